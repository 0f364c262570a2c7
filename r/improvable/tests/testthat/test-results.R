test_that("a result is its JSON", {
  result <- lent()
  expect_s3_class(result, "improvable_audit")
  python <- jsonlite::fromJSON(from_python()$lending, simplifyVector = FALSE)
  expect_identical(result$p_value, python$p_value)
  expect_identical(result$reject, python$reject)
  expect_identical(names(result), names(python))
  expect_equal(result$groups, c("north", "south", "west"))
})

test_that("tidy has a row for every condition", {
  table <- tidy(lent())
  expect_equal(table$term, c(rep("accuracy", 3), "fairness"))
  expect_equal(table$group, c("north", "south", "west", "region"))
  expect_equal(max(table$p.value), lent()$p_value)
  expect_true(all(table$status.quo.low <= table$status.quo & table$candidate <= table$candidate.high))
  expect_equal(tidy(cared())$p.value, vapply(cared()$repetitions[[1]]$components, function(one) one$p_value, 0))
})

test_that("glance has one row", {
  row <- glance(lent())
  expect_equal(dim(row), c(1L, 9L))
  expect_equal(row$p.value, lent()$p_value)
  expect_equal(row$repetitions, 2L)
  expect_equal(row$scheme, "forward")
  expect_equal(row$warnings, length(lent()$warnings))
  expect_true(is.na(glance(cared())$scheme))
})

test_that("tidy and glance are those of generics", {
  skip_if_not_installed("generics")
  expect_identical(improvable::tidy, generics::tidy)
  expect_equal(generics::glance(lent()), glance(lent()))
})

test_that("print and summary are Python's words", {
  python <- improvable:::text_of(python_result(lent())$summary())
  expect_identical(as.character(unclass(summary(lent()))), python)
  printed <- capture.output(print(lent()))
  expect_identical(printed[1:3], strsplit(python, "\n")[[1]][1:3])
  expect_gt(nchar(summary(lent(), verbose = TRUE)), nchar(python))
  expect_output(print(summary(cared())), "status quo")
})

test_that("a table has every condition of every repetition", {
  table <- as.data.frame(lent())
  expect_equal(nrow(table), 8)
  expect_type(table$repetition, "integer")
  expect_equal(table$p_value[table$repetition == 1], vapply(lent()$repetitions[[1]]$components, `[[`, 0, "p_value"))
  expect_true(all(is.na(table$ratio_low[table$kind == "fairness"])))
})

test_that("plots are files", {
  file <- tempfile(fileext = ".svg")
  expect_identical(plot(lent(), file = file), file)
  expect_match(readChar(file, 200), "<svg")
  png <- tempfile(fileext = ".png")
  plot(lent(), kind = "p_values", file = png, about = about(labels = c(region = "Region")))
  expect_identical(readBin(png, "raw", 4), as.raw(c(0x89, 0x50, 0x4e, 0x47)))
  expect_true(file.exists(local({
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    plot(lent())
  })))
  expect_error(plot(lent(), kind = "dumbells", file = file), "Did you mean 'dumbbells'", class = "improvable_error")
})

test_that("a frontier says what is supported and what is ruled out", {
  found <- frontier(lent())
  python <- python_result(lent())$frontier()
  words <- function(several) vapply(reticulate::iterate(several), function(one) improvable:::text_of(one$words), "")
  expect_equal(found$bounds$words, words(python$bounds()))
  expect_equal(found$at_most$words, words(python$at_most()))
  expect_named(found$edge, c("gap", "accuracy", "fairness"))
  expect_output(print(found), "gap")
  expect_error(frontier(lent(), form = "rato"), "Did you mean 'ratio'", class = "improvable_error")
})

test_that("results are kept with their draws, and otherwise say so", {
  folder <- tempfile()
  save_result(cared(), folder)
  back <- load_result(folder)
  expect_identical(attr(back, "json"), attr(cared(), "json"))
  asked <- with_claim(back, delta_accuracy = -0.05)
  expect_equal(asked$delta_accuracy, -0.05)
  expect_error(with_claim(back, delta_accurac = 0.05), "delta_accuracy", class = "improvable_error")
  file <- tempfile()
  saveRDS(cared(), file)
  read <- readRDS(file)
  expect_equal(tidy(read), tidy(cared()))
  expect_output(print(read), "status quo")
  expect_error(frontier(read), "load_result", class = "improvable_error")
  expect_error(load_result(tempfile()), "there is no folder", class = "improvable_storage_error")
})

test_that("reports are written", {
  file <- tempfile(fileext = ".md")
  write_report(cared(), file, about = about(organization = "Example Hospital", simulated = TRUE))
  expect_match(paste(readLines(file), collapse = " "), "Example Hospital")
})

test_that("the rule applied to all rows decides", {
  decisions <- predict(refit(lent()), lending())
  expect_length(decisions, 1500)
  expect_setequal(decisions, c(0, 1))
})
