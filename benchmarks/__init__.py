"""Stepmark measures itself: `python -m benchmarks`, whose figures stand in docs/speed.md."""
