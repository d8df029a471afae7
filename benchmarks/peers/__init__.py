"""The zoo's layers beside the same layers of other libraries, in one run."""
