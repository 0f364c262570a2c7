# A result is its JSON as a list, with the Python object, the JSON's text and the summary beside it.

make_result <- function(python) {
  told <- jsonlite::fromJSON(text_of(helper()$stated(python)))
  facts <- jsonlite::fromJSON(told$json, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  kind <- paste0("improvable_", told$class)
  structure(facts, class = c(kind, "improvable_result"), python = python, json = told$json, summary = told$summary)
}

#' The Python object behind a result.
python_result <- function(result) {
  python <- attr(result, "python")
  if (is.null(python) || reticulate::py_is_null_xptr(python)) {
    stop_improvable(paste(
      "this result was read from a file of R's, which keeps its numbers and not its draws.",
      "Keep results with save_result(), and bring them back with load_result()."
    ))
  }
  python
}

ask_python <- function(result, method, ...) {
  python <- helper()
  given <- list(...)
  given <- given[!vapply(given, is.null, NA)]
  value_of(python$ask(python_result(result), method, as_dict(Map(plain, names(given), given))))
}

print.improvable_result <- function(x, ...) {
  parts <- strsplit(attr(x, "summary"), "\n\n", fixed = TRUE)[[1]]
  cat(paste(utils::head(parts, 3), collapse = "\n\n"), "\n", sep = "")
  for (one in x$verdict_warnings) writeLines(c("", strwrap(paste("Caution:", one), 100)))
  others <- length(x$warnings) - length(x$verdict_warnings)
  cautions <- if (others > 0) paste0(", with ", others, if (others == 1) " caution" else " cautions") else ""
  cat("\nsummary() says the rest", cautions, ".\n", sep = "")
  invisible(x)
}

summary.improvable_result <- function(object, verbose = FALSE, about = NULL, ...) {
  text <- attr(object, "summary")
  if (verbose || !is.null(about)) text <- text_of(ask_python(object, "summary", verbose = verbose, about = about))
  structure(text, class = "improvable_summary")
}

print.improvable_summary <- function(x, ...) {
  cat(x, "\n", sep = "")
  invisible(x)
}

# Used where the package generics is not installed; .onLoad takes its generics otherwise.
tidy <- function(x, ...) UseMethod("tidy")
glance <- function(x, ...) UseMethod("glance")

number <- function(x) if (is.null(x)) NA_real_ else as.numeric(x)

# One row per condition, as the summary's table has them: means of the repetitions, and p of the one that decides.
tidy.improvable_result <- function(x, ...) {
  decides <- Find(function(one) one$p_value == x$p_value, x$repetitions)
  rows <- lapply(decides$components, function(one) {
    kind <- if (one$kind == "accuracy") "utility" else "gap"
    wanted <- function(e) e$kind == kind && e$utility == one$utility && e$group == one$group
    found <- Find(wanted, x$estimates)
    before <- found$status_quo
    after <- found$candidate
    data.frame(
      term = one$kind, utility = one$utility, group = one$group,
      status.quo = number(before$estimate), candidate = number(after$estimate),
      status.quo.low = number(before$low), status.quo.high = number(before$high),
      candidate.low = number(after$low), candidate.high = number(after$high),
      p.value = number(one$p_value), stringsAsFactors = FALSE
    )
  })
  do.call(rbind, rows)
}

glance.improvable_result <- function(x, ...) {
  data.frame(
    p.value = x$p_value, reject = x$reject, alpha = x$alpha, level = x$threshold,
    repetitions = length(x$repetitions), rows = x$rows, groups = length(x$groups),
    scheme = x$scheme %or% NA_character_, warnings = length(x$warnings), stringsAsFactors = FALSE
  )
}

as.data.frame.improvable_result <- function(x, row.names = NULL, optional = FALSE, ...) {
  receive(helper()$as_columns(ask_python(x, "table")))
}

plot.improvable_result <- function(x, kind = "dumbbells", file = NULL, about = NULL, ...) {
  shown <- is.null(file)
  drawn <- requireNamespace("png", quietly = TRUE)
  if (shown) file <- tempfile(fileext = if (drawn) ".png" else ".svg")
  about <- if (is.null(about)) NULL else plain("about", about)
  value_of(helper()$picture(python_result(x), kind, path.expand(file), about))
  if (shown && drawn) show_png(file)
  if (shown && !drawn && interactive()) utils::browseURL(file)
  invisible(file)
}

show_png <- function(file) {
  picture <- png::readPNG(file)
  before <- graphics::par(mar = c(0, 0, 0, 0))
  on.exit(graphics::par(before))
  graphics::plot.new()
  graphics::plot.window(c(0, dim(picture)[2]), c(0, dim(picture)[1]), asp = 1)
  graphics::rasterImage(picture, 0, 0, dim(picture)[2], dim(picture)[1])
}

#' How large an improvement the data support, and what they rule out.
frontier <- function(result, form = NULL) {
  found <- value_of(helper()$frontier(python_result(result), form))
  facts <- jsonlite::fromJSON(text_of(found), simplifyVector = FALSE)
  bounds <- function(several) {
    do.call(rbind, lapply(several, function(one) {
      values <- list(what = one$what, value = number(one$value), size = one$size, words = one$words)
      as.data.frame(values, stringsAsFactors = FALSE)
    }))
  }
  corners <- lapply(names(facts$edge), function(gap) {
    several <- facts$edge[[gap]]
    data.frame(
      gap = rep(gap, length(several)), accuracy = vapply(several, function(one) number(one[[1]]), 0),
      fairness = vapply(several, function(one) number(one[[2]]), 0), stringsAsFactors = FALSE
    )
  })
  out <- list(alpha = facts$alpha, form = facts$form, bounds = bounds(facts$bounds), at_most = bounds(facts$at_most),
              edge = do.call(rbind, corners))
  structure(out, class = "improvable_frontier")
}

print.improvable_frontier <- function(x, ...) {
  writeLines(strwrap(c(x$bounds$words, x$at_most$words), 100))
  invisible(x)
}

#' The same evidence asked another question.
with_claim <- function(result, ...) make_result(ask_python(result, "with_claim", ...))

#' Write a report.
write_report <- function(result, path, about = NULL) {
  ask_python(result, "report", path = path.expand(path), about = about)
  invisible(path)
}

#' Keep a result with its draws, and bring it back.
save_result <- function(result, folder) {
  ask_python(result, "save", folder = path.expand(folder))
  invisible(folder)
}

load_result <- function(folder) make_result(value_of(helper()$load(path.expand(folder))))

#' The algorithm to use instead of the status quo.
refit <- function(result) {
  structure(list(python = ask_python(result, "refit"), groups = result$group), class = "improvable_algorithm")
}

print.improvable_algorithm <- function(x, ...) {
  cat("An algorithm. predict(algorithm, newdata) gives its decisions, 0 or 1 for every row.\n")
  invisible(x)
}

predict.improvable_algorithm <- function(object, newdata, ...) {
  decided <- value_of(helper()$decide(object$python, send_data(newdata, object$groups)))
  bytes <- reticulate::py_to_r(decided)
  readBin(as.raw(bytes), "double", length(bytes) / 8, size = 8, endian = "little")
}
