"""Figures of docs/gpu.md: each module regenerates one table on a GPU and writes it as JSON."""
