"""The tools people use now: one module a tool, run in a fresh process for each side of a comparison."""
