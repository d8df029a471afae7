"""The audit put to the test: every mistake of the gallery, and benchmarks that are as they should be."""
