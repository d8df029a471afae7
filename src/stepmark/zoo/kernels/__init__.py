"""Kernels in Triton for the zoo's layers: compiled on a GPU, interpreted in tests, not imported elsewhere."""
