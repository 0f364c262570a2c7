test_that("every double arrives as it is", {
  odd <- c(0.1, 1 / 3, .Machine$double.xmin, 2^53 + 2, -0.0, 1e308, 5e-324, pi)
  python <- seen(data.frame(x = odd))
  read <- as.numeric(strsplit(gsub("Float64 \\[|\\]", "", python), ", ")[[1]])
  frame <- improvable:::helper()$as_frame(improvable:::send_data(data.frame(x = odd)))
  back <- improvable:::receive(improvable:::helper()$as_columns(frame))
  expect_identical(writeBin(back$x, raw()), writeBin(odd, raw()))
  expect_length(read, length(odd))
})

test_that("columns mean in Python what they mean in R", {
  data <- data.frame(
    factor = factor(c("b", NA, "a"), levels = c("b", "a")), text = c("x", NA, "NA"), logical = c(TRUE, NA, FALSE),
    integer = c(1L, NA, -3L), whole = c(1, NA, 3), double = c(0.5, NA, NaN), infinite = c(Inf, 1, -Inf),
    day = as.Date(c("2024-02-29", NA, "1969-12-31")),
    time = as.POSIXct(c("2024-07-01 12:30:15", NA, "1969-12-31 23:00:00"), tz = "America/New_York"),
    span = as.difftime(c(1.5, NA, 2), units = "mins"), ordered = factor(c("lo", "hi", NA), ordered = TRUE)
  )
  found <- seen(data)
  expect_equal(found[["factor"]], "String ['b', None, 'a']")
  expect_equal(found[["text"]], "String ['x', None, 'NA']")
  expect_equal(found[["logical"]], "Boolean [True, None, False]")
  expect_equal(found[["integer"]], "Int64 [1, None, -3]")
  expect_equal(found[["whole"]], "Int64 [1, None, 3]")
  expect_equal(found[["double"]], "Float64 [0.5, None, None]")
  expect_equal(found[["infinite"]], "Float64 [inf, 1.0, -inf]")
  expect_equal(found[["day"]], "Date [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)]")
  expect_match(found[["time"]], "datetime.datetime(2024, 7, 1, 12, 30, 15), None", fixed = TRUE)
  expect_match(found[["time"]], "datetime.datetime(1969, 12, 31, 23, 0)", fixed = TRUE)
  expect_match(found[["span"]], "seconds=90), None", fixed = TRUE)
  expect_equal(found[["ordered"]], "String ['lo', 'hi', None]")
})

test_that("labelled columns send their values, and as groups their labels", {
  sex <- structure(c(1, 2, 9, NA, 3), labels = c(man = 1, woman = 2, refused = 9), na_values = 9,
                   class = c("haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"))
  data <- data.frame(row = 1:5)
  data$sex <- sex
  expect_equal(seen(data)[["sex"]], "Int64 [1, 2, None, None, 3]")
  expect_equal(seen(data, "sex")[["sex"]], "String ['man', 'woman', None, None, '3']")
  skip_if_not_installed("haven")
  tagged <- haven::labelled(c(1, haven::tagged_na("a"), 2), c(no = 1, yes = 2))
  expect_equal(seen(data.frame(x = tagged))[["x"]], "Int64 [1, None, 2]")
})

test_that("an audit by a labelled column names its groups by labels", {
  skip_if_not_installed("haven")
  data <- lending()
  ask <- function() suppressWarnings(audit_lending(data, rule = "linear", features = ~ income + debt))
  named <- ask()
  codes <- c(west = 1, south = 2, north = 3)
  data$region <- haven::labelled(unname(codes[as.character(data$region)]), codes)
  result <- ask()
  expect_equal(result$groups, c("north", "south", "west"))
  expect_identical(result$p_value, named$p_value)
  expect_identical(result$estimates, named$estimates)
})

test_that("logical groups are named as R names them", {
  data <- lending()
  data$old <- data$years > 15
  data$years <- NULL
  result <- suppressWarnings(compare(
    repaid ~ old, status_quo = ~approved, candidate = threshold("income", above = 110), data = data,
    accuracy = "classification_rate", test = how_to_test(draws = 200), read = read_as(drop_missing = TRUE)
  ))
  expect_equal(result$groups, c("FALSE", "TRUE"))
})

test_that("outcomes and decisions may be factors of two levels", {
  data <- lending()
  data$approved <- factor(ifelse(data$approved, "yes", "no"))
  data$repaid <- factor(ifelse(data$repaid, "repaid", "lost"))
  ask <- function(...) {
    suppressWarnings(compare(
      repaid ~ region, status_quo = ~approved, candidate = threshold("income", above = 110), data = data,
      accuracy = "classification_rate", test = how_to_test(draws = 200), ...
    ))
  }
  said <- ask(read = read_as(positive = c(repaid = "repaid", approved = "yes"), drop_missing = TRUE))
  data <- lending()
  expect_identical(said$estimates, ask(read = read_as(drop_missing = TRUE))$estimates)
  data$approved <- factor(ifelse(data$approved, "yes", "no"))
  expect_error(ask(read = read_as(drop_missing = TRUE)), "read = read_as(positive = list(approved = \"yes\"))",
               fixed = TRUE, class = "improvable_data_error")
})

test_that("lists are nested, matrices are refused, and names may be anything", {
  data <- data.frame(row = 1:2)
  data$nested <- list(1:2, "a")
  data[["caf\u00e9 x"]] <- c("\u00e9", "\u4e2d")
  found <- seen(data)
  expect_equal(found[["nested"]], "List(String) [['1', '2'], ['a']]")
  expect_equal(found[["caf\u00e9 x"]], "String ['\u00e9', '\u4e2d']")
  data$pair <- matrix(1:4, 2)
  expect_error(seen(data), "column 'pair' is a matrix. Turn it into", class = "improvable_data_error")
})

test_that("long whole numbers of bit64 stay whole", {
  skip_if_not_installed("bit64")
  expect_equal(seen(data.frame(x = bit64::as.integer64("9007199254740993")))[["x"]], "Int64 [9007199254740993]")
})
