"""What stepmark's verdicts are worth on a real machine, beside the tools people use now."""
