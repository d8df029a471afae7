"""Expectation: what the author of a step says about it, for the audit to hold against what was seen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Expect:
    """Claims about one iteration; what is None is not claimed."""

    parameters: int | None = None
    """Of the module, trainable or not."""
    flops: float | None = None
    """Useful work, two for a multiplication with addition, in all phases together."""
    output: tuple[int, ...] | None = None
    """Shape of the output."""
    tokens: int | None = None
    """Rows of the output: all its dimensions but the last."""
    dtype: str | None = None
    """Of the output: `bfloat16`."""
    deterministic: bool = False
    """The same inputs give the same output, bit for bit."""

    def __post_init__(self) -> None:
        for name in ("parameters", "flops", "tokens"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} cannot be {value}")
