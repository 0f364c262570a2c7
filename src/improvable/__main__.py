"""`python -m improvable`: the command line."""

from improvable.cli import main

main()
