"""Needs: what a variant will ask of the device, said before it is built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Needs:
    """An estimate by arithmetic; it keeps a sweep from trying what cannot end well."""

    memory: float
    """Bytes at the peak of a step: parameters, gradients, optimizer state, activations."""
    flops: float = 0.0
    """Floating-point operations of one step, two for a multiplication with addition."""

    def __post_init__(self) -> None:
        if not (self.memory >= 0.0 and self.flops >= 0.0):
            raise ValueError(f"needs cannot be negative: {self.memory} bytes, {self.flops} operations")
