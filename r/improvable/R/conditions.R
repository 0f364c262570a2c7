# Errors and warnings of Python become conditions of R: the same words, with code as R writes it.

condition_class <- function(kind) {
  paste0("improvable_", tolower(gsub("(?<=[a-z])(?=[A-Z])", "_", kind, perl = TRUE)))
}

stop_improvable <- function(message, kind = "OptionError", python = message) {
  classes <- unique(c(condition_class(kind), "improvable_error", "error", "condition"))
  stop(structure(list(message = message, call = NULL, kind = kind, python = python), class = classes))
}

warn_improvable <- function(message, python = message) {
  classes <- c("improvable_warning", "warning", "condition")
  warning(structure(list(message = message, call = NULL, python = python), class = classes))
}

# The value of a call of the helper, once what it was told is signaled.
value_of <- function(answer) {
  told <- jsonlite::fromJSON(text_of(answer$told()), simplifyVector = FALSE)
  for (one in told$warnings) warn_improvable(one[[1]], one[[2]])
  if (!is.null(told$error)) stop_improvable(told$error[[2]], told$error[[1]], told$error[[3]])
  reticulate::py_get_attr(answer, "value")
}

# Arguments are forced first: reticulate starts whatever Python it finds before it looks at them.
text_of <- function(object) {
  force(object)
  as.character(reticulate::py_to_r(object))
}
