# The tests of the installed package, with a closing line that counts them: `make test-r`.
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))))
library(testthat)
library(improvable)
found <- as.data.frame(test_dir(
  file.path(here, "testthat"), reporter = "summary", package = "improvable", load_package = "installed",
  stop_on_failure = FALSE
))
failed <- found$failed > 0 | found$error
skipped <- found$skipped & !failed
if (any(skipped)) cat("skipped:", paste(found$test[skipped], collapse = "; "), "\n")
cat(sum(!failed & !skipped), " passed, ", sum(failed), " failed\n", sep = "")
quit(status = as.integer(any(failed) || nrow(found) == 0))
