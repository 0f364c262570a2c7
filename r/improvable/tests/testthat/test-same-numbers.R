test_that("the diabetes survey gives the same bytes as in Python", {
  survey <- example_data("diabetes_screening")
  expect_equal(nrow(survey), 17067)
  result <- suppressWarnings(audit(
    diabetes ~ race, status_quo = ~guideline, data = survey, rule = "logistic", capacity = "status_quo",
    features = ~ age + bmi + waist + height + weight_kg + arm + woman + family_history,
    accuracy = "true_positive_rate", weight = "weight", cluster = ~psu, stratum = "stratum", test = few
  ))
  expect_identical(attr(result, "json"), from_python()$screening)
})

test_that("the simulated care program gives the same bytes as in Python", {
  people <- example_data("care_management", rows = 2000, seed = 1)
  result <- suppressWarnings(audit(
    gagne_sum_t ~ race, status_quo = threshold("risk_score_t", capacity = 0.1), data = people, rule = "linear",
    exclude = "*_t", test = few, seed = 3, constraints = constraints(monotone = c(gagne_sum_tm1 = "+"))
  ))
  expect_identical(attr(result, "json"), from_python()$care)
})

test_that("factors, logicals, dates and missing values give the same bytes as in Python", {
  expect_identical(attr(lent(), "json"), from_python()$lending)
})

test_that("a comparison gives the same bytes as in Python", {
  expect_identical(attr(cared(), "json"), from_python()$compared)
})

test_that("tibbles, doubles for integers and text for factors change nothing", {
  skip_if_not_installed("tibble")
  data <- tibble::as_tibble(lending())
  data$years <- as.double(data$years)
  data$job <- as.character(data$job)
  data$approved <- as.integer(data$approved)
  result <- suppressWarnings(audit_lending(data, n_jobs = 1))
  expect_identical(result$p_value, lent()$p_value)
  expect_identical(result$estimates, lent()$estimates)
  expect_identical(result$data_fingerprint, lent()$data_fingerprint)
})
