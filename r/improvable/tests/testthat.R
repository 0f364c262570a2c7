library(testthat)
library(improvable)

# Without the Python package there is nothing to test here.
if (improvable_available()) test_check("improvable")
