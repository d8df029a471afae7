"""`python -m stepmark`."""

from stepmark.cli import main

main()
