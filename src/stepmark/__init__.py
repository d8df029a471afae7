"""Training-step benchmarks you can believe."""

__version__ = "0.1.0"
