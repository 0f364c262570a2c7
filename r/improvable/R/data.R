# Data frames on their way to Python, column by column: name, kind, bytes, levels.
# Doubles cross as bytes, so that they arrive as they are.

send_data <- function(data, labels = character()) {
  if (inherits(data, "python.builtin.object") || (is.character(data) && length(data) == 1)) return(data)
  if (!is.data.frame(data)) {
    stop_improvable(paste0(a_class(data), " is not a data frame. Give a data frame, or a path to a file."), "DataError")
  }
  columns <- lapply(seq_along(data), function(i) {
    name <- enc2utf8(names(data)[[i]])
    c(list(name), send_column(name, .subset2(data, i), nrow(data), name %in% labels))
  })
  columns
}

a_class <- function(x) paste0("a ", class(x)[[1]])

# A column as its kind, bytes and levels. Columns that name groups are sent by their labels.
send_column <- function(name, x, rows, label = FALSE) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (inherits(x, c("haven_labelled", "labelled"))) x <- if (label) value_labels(x) else plain_values(x)
  refused <- is.data.frame(x) || length(dim(x)) > 1 || length(unclass(x)) != rows || is.complex(x) || is.raw(x)
  if (refused) {
    stop_improvable(paste0(
      "column '", name, "' is ", a_class(x), ". Turn it into numbers or text first, or drop it."
    ), "DataError")
  }
  if (is.factor(x)) return(send_text(levels(x)[as.integer(x)]))
  if (inherits(x, "Date")) return(send_integers("day", floor(as.numeric(x))))
  if (inherits(x, "POSIXct")) return(send_doubles("microseconds", round(clock_seconds(x) * 1e6)))
  if (inherits(x, "difftime")) return(send_doubles("duration", round(as.numeric(x, units = "secs") * 1e6)))
  if (inherits(x, "integer64")) return(send_text(as.character(x), "long"))
  x <- as.vector(unclass(x))
  switch(typeof(x),
    logical = if (label) send_text(as.character(x)) else send_integers("logical", x),
    integer = send_integers("integer", x),
    double = send_doubles(if (all_whole(x)) "whole" else "double", x),
    character = send_text(x),
    list = list("list", raw(), unname(lapply(x, function(one) as.list(enc2utf8(as.character(unlist(one))))))),
    stop_improvable(paste0("column '", name, "' holds ", typeof(x), ". Drop it."), "DataError")
  )
}

send_doubles <- function(kind, x) list(kind, writeBin(as.double(x), raw(), size = 8, endian = "little"), list())

send_integers <- function(kind, x) list(kind, writeBin(as.integer(x), raw(), size = 4, endian = "little"), list())

send_text <- function(x, kind = "text") {
  x <- enc2utf8(x)
  levels <- unique(x[!is.na(x)])
  codes <- match(x, levels)
  list(kind, writeBin(codes, raw(), size = 4, endian = "little"), as.list(levels))
}

# R has no habit of telling 3L from 3: a column of whole numbers is one, however it was read.
all_whole <- function(x) {
  given <- x[!is.na(x)]
  length(given) > 0 && all(is.finite(given)) && all(given == trunc(given)) && max(abs(given)) < 2^53
}

# Times as the clock that R prints shows them.
clock_seconds <- function(x) {
  local <- as.POSIXlt(x)
  as.numeric(as.POSIXct(format(local, "%Y-%m-%d %H:%M:%S"), tz = "UTC")) + (local$sec - floor(local$sec))
}

# Columns of haven: values with labels, some of them declared missing.
plain_values <- function(x) {
  absent <- is.na(unclass(x)) | unclass(x) %in% attr(x, "na_values")
  range <- attr(x, "na_range")
  if (!is.null(range)) absent <- absent | (unclass(x) >= range[[1]] & unclass(x) <= range[[2]])
  out <- as.vector(unclass(x))
  out[absent] <- NA
  out
}

value_labels <- function(x) {
  values <- plain_values(x)
  labels <- attr(x, "labels")
  place <- match(values, as.vector(unclass(labels)))
  ifelse(is.na(values), NA_character_, ifelse(is.na(place), as.character(values), names(labels)[place]))
}

# Columns of a Python frame as a data frame.
receive <- function(columns) {
  force(columns)
  columns <- reticulate::py_to_r(columns)
  out <- lapply(columns, function(one) {
    kind <- one[[2]]
    bytes <- as.raw(one[[3]])
    if (kind == "double") {
      numbers <- readBin(bytes, "double", length(bytes) / 8, size = 8, endian = "little")
      return(ifelse(is.na(numbers), NA_real_, numbers))
    }
    whole <- readBin(bytes, "integer", length(bytes) / 4, size = 4, endian = "little")
    switch(kind, integer = whole, logical = as.logical(whole), text = as.character(unlist(one[[4]]))[whole])
  })
  names(out) <- vapply(columns, function(one) one[[1]], "")
  as.data.frame(out, check.names = FALSE, stringsAsFactors = FALSE, optional = TRUE)
}

#' Data that come with the package.
example_data <- function(name = c("diabetes_screening", "care_management"), rows = NULL, seed = NULL) {
  name <- match.arg(name)
  if (name == "diabetes_screening" && !(is.null(rows) && is.null(seed))) {
    stop_improvable("diabetes_screening is a survey: it has no rows or seed to choose. Leave them out.")
  }
  receive(value_of(helper()$example(name, rows, seed)))
}
