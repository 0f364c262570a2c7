# Which Python, and the helper that stands in it.

state <- new.env(parent = emptyenv())

#' Choose the Python that has improvable.
use_improvable <- function(python = Sys.getenv("IMPROVABLE_PYTHON")) {
  helper(python)
  invisible(reticulate::py_config()$python)
}

# Start Python: the one that RETICULATE_PYTHON names, or else the one given, or else what reticulate finds.
start_python <- function(python) {
  chosen <- length(python) == 1 && nzchar(python) && !nzchar(Sys.getenv("RETICULATE_PYTHON"))
  if (chosen && !file.exists(python)) {
    stop_improvable(paste0("there is no Python '", python, "'. Name the program: use_improvable(python = ...)."))
  }
  if (reticulate::py_available()) {
    running <- reticulate::py_config()$python
    if (chosen && !identical(normalized(python), normalized(running))) {
      stop_improvable(paste0("this session already runs '", running, "'. Restart R, and call use_improvable() first."))
    }
    return(TRUE)
  }
  if (chosen) { # by the variable, which stands above what reticulate finds in the current folder
    Sys.setenv(RETICULATE_PYTHON = normalized(python))
    on.exit(Sys.unsetenv("RETICULATE_PYTHON"))
  }
  isTRUE(tryCatch(reticulate::py_available(initialize = TRUE), error = function(e) FALSE))
}

# A virtual environment's Python is a link: what counts is the folder that it stands in.
normalized <- function(path) file.path(normalizePath(dirname(path), mustWork = FALSE), basename(path))

#' Whether the Python package can be called from here.
improvable_available <- function() !inherits(tryCatch(helper(), error = identity), "error")

helper <- function(python = Sys.getenv("IMPROVABLE_PYTHON")) {
  if (!is.null(state$helper)) return(state$helper)
  if (!start_python(python)) {
    stop_improvable("no Python was found. Name one that has improvable: use_improvable(python = ...).")
  }
  if (!reticulate::py_module_available("improvable")) {
    stop_improvable(paste0(
      "the Python package improvable is not installed for '", reticulate::py_config()$python,
      "'. Install it there, or name another Python: use_improvable(python = ...)."
    ))
  }
  folder <- system.file("python", package = "improvable", mustWork = TRUE)
  state$helper <- reticulate::import_from_path("improvable_r", folder, convert = FALSE)
  state$helper
}

.onLoad <- function(libname, pkgname) {
  # One generic for all packages, so that tidy() finds the methods of broom too.
  if (requireNamespace("generics", quietly = TRUE)) {
    here <- parent.env(environment())
    assign("tidy", generics::tidy, envir = here)
    assign("glance", generics::glance, envir = here)
  }
}
