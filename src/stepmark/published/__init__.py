"""Published results as data: where they come from, what is wrong with them, and what can be put right."""
