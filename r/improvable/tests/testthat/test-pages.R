# The page and the vignette run from top to bottom, and the page prints what it shows.

blocks_of <- function(lines) {
  open <- NA
  out <- list()
  for (i in seq_along(lines)) {
    if (!startsWith(lines[[i]], "```")) next
    if (is.na(open)) {
      open <- i
    } else {
      kind <- sub("^```\\{?(\\w*).*$", "\\1", lines[[open]])
      out[[length(out) + 1]] <- list(kind = kind, end = i, lines = lines[seq_len(i - open - 1) + open])
      open <- NA
    }
  }
  out
}

# Runs the blocks of a page. IMPROVABLE_WRITE_PAGES=1 writes what they print into the page instead of comparing it.
run_page <- function(path) {
  lines <- readLines(path, encoding = "UTF-8")
  blocks <- blocks_of(lines)
  here <- new.env(parent = globalenv())
  folder <- tempfile()
  dir.create(folder)
  before <- setwd(folder)
  on.exit(setwd(before))
  printed <- NULL
  written <- lines
  for (block in blocks) {
    if (block$kind == "r") {
      code <- parse(text = block$lines, encoding = "UTF-8")
      printed <- capture.output(for (one in code) {
        shown <- suppressWarnings(withVisible(eval(one, here)))
        if (shown$visible) print(shown$value)
      })
    } else if (block$kind == "text" && !is.null(printed)) {
      printed <- trimws(printed, "right")
      if (!nzchar(Sys.getenv("IMPROVABLE_WRITE_PAGES"))) expect_equal(printed, block$lines)
      past <- length(lines) - block$end # counted from the end, which stays where it is
      start <- length(written) - past - length(block$lines) - 1
      written <- c(written[seq_len(start)], printed, utils::tail(written, past + 1))
      printed <- NULL
    }
  }
  if (nzchar(Sys.getenv("IMPROVABLE_WRITE_PAGES"))) writeLines(written, path, useBytes = TRUE)
  sum(vapply(blocks, function(one) one$kind == "r", NA))
}

test_that("the page of the documentation prints what it shows", {
  page <- test_path("..", "..", "..", "..", "docs", "how-to", "use-from-r.md")
  skip_if_not(file.exists(page))
  before <- options(width = 100)
  on.exit(options(before))
  expect_gt(run_page(normalizePath(page)), 3)
})

test_that("the vignette runs", {
  page <- test_path("..", "..", "vignettes", "improvable.Rmd")
  skip_if_not(file.exists(page))
  expect_gt(run_page(normalizePath(page)), 3)
})
