"""One file per step, oldest first."""
