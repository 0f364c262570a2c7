# The made-up lending frame as an R user has it: factors, logicals, dates, missing values.

lending <- function(rows = 1500) {
  i <- seq_len(rows) - 1
  part <- function(times, modulus) (i * times + 13) %% modulus
  a <- part(7919, 1009)
  b <- part(104729, 997)
  c <- part(15485863, 991)
  score <- (3 * a + c) / 1000
  regions <- factor(c("north", "south", "west"), levels = c("west", "south", "north"))
  jobs <- factor(c("clerk", "nurse", "none"))
  data.frame(
    region = replace(regions[part(31, 101) %% 3 + 1], i %% 97 == 0, NA),
    repaid = replace(a + b / 2 + c / 3 > 700, i %% 61 == 60, NA),
    approved = score > 1.9,
    income = replace(20 + a / 7 + b / 13, i %% 53 == 52, NA),
    job = replace(jobs[part(57, 103) %% 3 + 1], i %% 41 == 40, NA),
    years = replace(as.integer(b %% 30), i %% 37 == 36, NA),
    applied = as.Date("2024-01-01") + c %% 365,
    debt = b %% 400,
    score = score
  )
}

few <- how_to_test(repetitions = 2, draws = 500)

audit_lending <- function(data = lending(), ..., rule = "logistic") {
  audit(
    repaid ~ region, status_quo = ~approved, data = data, rule = rule, test = few,
    accuracy = "classification_rate", capacity = "status_quo", read = read_as(drop_missing = TRUE),
    claim = claim(delta_accuracy = -0.02), ...
  )
}

once <- local({
  kept <- new.env()
  function(name, make) {
    if (is.null(kept[[name]])) assign(name, suppressWarnings(make()), envir = kept)
    kept[[name]]
  }
})

lent <- function() once("lent", function() hear_lending()$result)

# With the conditions that were heard on the way.
hear_lending <- function() {
  once("heard", function() {
    heard <- list()
    result <- withCallingHandlers(
      audit_lending(),
      improvable_warning = function(w) {
        heard[[length(heard) + 1]] <<- w
        invokeRestart("muffleWarning")
      }
    )
    list(result = result, heard = heard)
  })
}

cared <- function() {
  once("cared", function() {
    compare(
      gagne_sum_t ~ race, status_quo = threshold("risk_score_t", capacity = 0.1),
      candidate = threshold(~gagne_sum_tm1, capacity = 0.1), data = example_data("care_management", 2000, seed = 1),
      test = how_to_test(draws = 500)
    )
  })
}

# The JSON of Python alone, from a process of its own. R's library path is not Python's.
from_python <- function() {
  once("python", function() {
    folder <- tempfile()
    dir.create(folder)
    python <- use_improvable()
    code <- system2(python, c(shQuote(test_path("reference.py")), shQuote(folder)), env = "LD_LIBRARY_PATH=")
    stopifnot(code == 0)
    files <- list.files(folder, full.names = TRUE)
    texts <- lapply(files, function(one) readChar(one, file.size(one), useBytes = TRUE))
    stats::setNames(texts, sub("\\.json$", "", basename(files)))
  })
}

# Columns as Python sees them, in words.
seen <- function(data, labels = character()) {
  python <- improvable:::helper()
  frame <- python$as_frame(improvable:::send_data(data, labels))
  types <- vapply(names(data), function(name) as.character(reticulate::py_str(frame[[name]]$dtype)), "")
  values <- lapply(names(data), function(name) as.character(reticulate::py_str(frame[[name]]$to_list())))
  stats::setNames(paste(types, values), names(data))
}
