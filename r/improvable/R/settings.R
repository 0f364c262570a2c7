# The value objects of Python as functions. What is NULL is not said, so that Python's defaults hold.

setting <- function(kind, given) {
  given <- given[!vapply(given, is.null, NA)]
  structure(list(kind = kind, given = given), class = c(paste0("improvable_", tolower(kind)), "improvable_setting"))
}

#' The improvement to be shown.
claim <- function(selection = NULL, lower_is_better = NULL, ask = NULL, delta_accuracy = NULL,
                  delta_fairness = NULL, form = NULL, gap = NULL, protected = NULL, overall = NULL) {
  setting("Claim", mget(names(formals())))
}

#' How it is tested.
how_to_test <- function(scheme = NULL, repetitions = NULL, train_fraction = NULL, draws = NULL, alpha = NULL,
                        ties = NULL, method = NULL, train_rows = NULL) {
  setting("Test", mget(names(formals())))
}

#' How the data are read, and what their values mean.
read_as <- function(positive = NULL, outcome_range = NULL, direction = NULL, na = NULL, strip = NULL,
                    drop_missing = NULL, separator = NULL, encoding = NULL, decimal = NULL, sheet = NULL,
                    engine = NULL, duplicates = NULL, unknown_outcomes = NULL) {
  setting("Read", mget(names(formals())))
}

#' Which levels of the group columns count.
group_levels <- function(only = NULL, cross = NULL, min_group = NULL, probabilities = NULL,
                         assume = NULL, known = NULL, rake = NULL) {
  setting("Groups", mget(names(formals())))
}

#' What a candidate must respect.
constraints <- function(monotone = NULL, selection_gap = NULL, group_blind = NULL,
                        max_unknown = NULL) {
  setting("Constraints", mget(names(formals())))
}

#' Whose audit it is, for reports.
about <- function(organization = NULL, system = NULL, author = NULL, date = NULL, labels = NULL, simulated = NULL) {
  setting("About", mget(names(formals())))
}

#' Select by a score.
threshold <- function(score, capacity = NULL, above = NULL) {
  if (is.function(score)) refuse_function("score")
  if (inherits(score, "formula")) score <- columns_in(score, "score")
  setting("threshold", list(score = score, capacity = capacity, above = above))
}

R_NAMES <- c(Claim = "claim", Test = "how_to_test", Read = "read_as", Groups = "group_levels",
             Constraints = "constraints", About = "about", threshold = "threshold")

format.improvable_setting <- function(x, ...) {
  given <- vapply(x$given, function(one) paste(deparse(one), collapse = " "), "")
  paste0(R_NAMES[[x$kind]], "(", paste(names(given), given, sep = " = ", collapse = ", "), ")")
}

print.improvable_setting <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

# Values on their way to Python.

as_dict <- function(values) {
  if (length(values) == 0) return(reticulate::dict())
  values
}

plain <- function(name, value) {
  if (inherits(value, "improvable_setting")) {
    given <- Map(function(one, at) plain(at, one), value$given, names(value$given))
    return(list(improvable_setting = value$kind, given = as_dict(given)))
  }
  if (inherits(value, "python.builtin.object")) return(value)
  if (is.function(value)) refuse_function(name)
  if (inherits(value, "formula")) return(columns_in(value, name))
  if (is.factor(value)) value <- stats::setNames(as.character(value), names(value))
  if (inherits(value, c("Date", "POSIXct"))) value <- format(value)
  if (is.list(value) || !is.null(names(value))) {
    return(Map(function(one, at) plain(at, one), as.list(value), names(value) %or% rep(name, length(value))))
  }
  if (!is.atomic(value) || anyNA(value)) {
    what <- if (is.atomic(value)) "NA" else a_class(value)
    stop_improvable(paste0("`", name, "` is ", what, ". Give a value, or leave it out."))
  }
  if (is.character(value)) value <- enc2utf8(value)
  as.vector(value)
}

`%or%` <- function(a, b) if (is.null(a)) b else a

refuse_function <- function(name) {
  stop_improvable(paste0(
    "`", name, "` is an R function, which Python's threads cannot call. ",
    "Put its decisions into a column, data$decision <- f(data), and name it: ", name, " = ~ decision."
  ))
}

# The columns that a one-sided formula names.
columns_in <- function(formula, name) {
  if (length(formula) != 2) {
    stop_improvable(paste0("`", name, "` is a formula with two sides. Name a column: ", name, " = ~ column."))
  }
  terms_of(formula[[2]], "+", name)
}

# Names joined by an operator: a + b, or a:b.
terms_of <- function(code, operator, name) {
  if (is.symbol(code)) return(as.character(code))
  if (is.character(code)) return(code)
  if (is.call(code) && identical(code[[1]], as.name("("))) return(terms_of(code[[2]], operator, name))
  if (is.call(code) && identical(code[[1]], as.name(operator)) && length(code) == 3) {
    return(c(terms_of(code[[2]], operator, name), terms_of(code[[3]], operator, name)))
  }
  stop_improvable(paste0(
    "`", name, "` has `", paste(deparse(code), collapse = " "), "` where the name of a column is needed. ",
    "Make it a column first, and name that."
  ))
}
