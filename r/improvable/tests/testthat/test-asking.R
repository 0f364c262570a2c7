test_that("value objects take what Python's take", {
  python <- improvable:::helper()
  fields <- function(name) unlist(reticulate::py_to_r(python$fields_of(name)))
  expect_setequal(names(formals(claim)), fields("Claim"))
  expect_setequal(names(formals(how_to_test)), setdiff(fields("Test"), "__test__"))
  expect_setequal(names(formals(read_as)), fields("Read"))
  expect_setequal(c("columns", names(formals(group_levels))), fields("Groups"))
  expect_setequal(names(formals(constraints)), fields("Constraints"))
  expect_setequal(names(formals(about)), fields("About"))
  expect_setequal(
    setdiff(names(formals(audit)), c("formula", "groups", "...")), setdiff(fields("audit"), c("outcome", "group"))
  )
  expect_setequal(
    setdiff(names(formals(compare)), c("formula", "groups", "...")), setdiff(fields("compare"), c("outcome", "group"))
  )
})

test_that("value objects are plain values that print as code", {
  expect_output(print(claim(delta_accuracy = 0.01)), 'claim(delta_accuracy = 0.01)', fixed = TRUE)
  expect_output(print(threshold("score", capacity = 0.03)), 'threshold(score = "score", capacity = 0.03)', fixed = TRUE)
  expect_output(print(how_to_test(draws = 2000)), "how_to_test(draws = 2000)", fixed = TRUE)
})

test_that("a formula names outcome and groups", {
  read <- improvable:::read_formula
  expect_equal(read(repaid ~ race + `age band`, NULL)$columns, c("race", "age band"))
  expect_true(read(repaid ~ race:sex, NULL)$group$given$cross)
  expect_equal(read(repaid ~ race, group_levels(only = c("a", "b")))$group$given$only, list("a", "b"))
  expect_error(read(log(repaid) ~ race, NULL), "has `log(repaid)` where the name of a column is needed", fixed = TRUE,
               class = "improvable_error")
  expect_error(read(~race, NULL), "Say it as outcome ~ group", class = "improvable_error")
})

test_that("groups may be crossed and kept", {
  data <- lending()
  data$sex <- factor(ifelse(data$years %% 2 == 0, "woman", "man"))
  ask <- function(formula, ...) {
    suppressWarnings(compare(
      formula, status_quo = ~approved, candidate = threshold("income", above = 110), data = data,
      accuracy = "classification_rate", test = how_to_test(draws = 200), read = read_as(drop_missing = TRUE), ...
    ))
  }
  expect_length(ask(repaid ~ region:sex)$groups, 6)
  expect_equal(ask(repaid ~ region, groups = group_levels(only = c("north", "south")))$groups, c("north", "south"))
  expect_length(ask(repaid ~ region + sex)$groups, 5)
})

test_that("data may come through a pipe", {
  piped <- suppressWarnings(compare(
    lending(), repaid ~ region, status_quo = ~approved, candidate = threshold("income", above = 110),
    accuracy = "classification_rate", test = how_to_test(draws = 200), read = read_as(drop_missing = TRUE)
  ))
  expect_s3_class(piped, "improvable_comparison")
})

test_that("errors are conditions with Python's words", {
  data <- lending()
  wrong <- tryCatch(audit(repaid ~ regiom, status_quo = ~approved, data = data), error = identity)
  expect_s3_class(wrong, "improvable_unknown_column_error")
  expect_s3_class(wrong, "improvable_error")
  expect_equal(conditionMessage(wrong), "there is no column 'regiom'. Did you mean 'region'?")
  expect_equal(wrong$kind, "UnknownColumnError")

  missing <- tryCatch(audit(repaid ~ region, status_quo = ~approved, data = data), error = identity)
  expect_s3_class(missing, "improvable_data_error")
  expect_match(missing$python, "`read=Read(drop_missing=True)`", fixed = TRUE)
  expect_match(conditionMessage(missing), "`read = read_as(drop_missing = TRUE)`", fixed = TRUE)

  place <- tryCatch(audit(repaid ~ region, status_quo = ~approved, data = data, draws = 500), error = identity)
  expect_s3_class(place, "improvable_error")
  expect_match(conditionMessage(place), "`draws` is part of `test`: test = how_to_test(draws = 500).", fixed = TRUE)

  expect_error(audit(repaid ~ region, status_quo = ~approved, data = data, rule = "lassso"), "Did you mean 'lasso'?",
               class = "improvable_option_error")
})

test_that("what R alone can get wrong is refused in one line", {
  data <- lending()
  expect_error(audit(repaid ~ region, status_quo = function(d) d$score > 1, data = data),
               "Put its decisions into a column", class = "improvable_error")
  expect_error(audit(repaid ~ region, status_quo = data$approved, data = data),
               "`status_quo` is a logical of length 1500", class = "improvable_error")
  expect_error(audit(repaid ~ region, status_quo = ~approved, data = as.list(data)), "a list is not a data frame",
               class = "improvable_data_error")
  expect_error(audit(repaid ~ region, status_quo = ~approved, data = data, seed = NA), "`seed` is NA",
               class = "improvable_error")
  expect_error(audit(repaid ~ region, status_quo = ~approved, data = cbind(data, region = 1)),
               "duplicate column names: 'region'", class = "improvable_data_error")
})

test_that("warnings are conditions with Python's words", {
  heard <- hear_lending()$heard
  expect_gt(length(heard), 0)
  expect_identical(vapply(heard, function(w) w$python, ""), lent()$warnings)
})

test_that("code in messages is R's", {
  in_r <- function(text) improvable:::text_of(improvable:::helper()$in_r(text))
  expect_equal(in_r("Say which: `read=Read(positive={'a b': 'no'})`."),
               "Say which: `read = read_as(positive = list(`a b` = \"no\"))`.")
  expect_equal(in_r("`features=['*']` or `exclude=['a', 'b']`, `row_id=...`, `alpha`"),
               "`features = \"*\"` or `exclude = c(\"a\", \"b\")`, `row_id = ...`, `alpha`")
  expect_equal(in_r("Keep some: `group=Groups(..., only='north')`."),
               "Keep some: `groups = group_levels(only = \"north\")`.")
})

test_that("a Python without the package, and one that is not there, are named in one line", {
  code <- "tryCatch(improvable::use_improvable(), error = function(e) cat(conditionMessage(e)))"
  ask <- function(python) {
    # A Python of the system that has no improvable; the tests' own path would show it.
    env <- c("RETICULATE_PYTHON=", paste0("IMPROVABLE_PYTHON=", python), "PYTHONPATH=",
             paste0("R_LIBS=", paste(.libPaths(), collapse = ":")))
    suppressWarnings(system2("Rscript", c("-e", shQuote(code)), env = env, stdout = TRUE, stderr = FALSE))
  }
  expect_equal(
    ask("/nowhere/python"), "there is no Python '/nowhere/python'. Name the program: use_improvable(python = ...)."
  )
  skip_if_not(file.exists("/usr/bin/python3"))
  expect_match(paste(ask("/usr/bin/python3"), collapse = " "), "the Python package improvable is not installed for")
})
