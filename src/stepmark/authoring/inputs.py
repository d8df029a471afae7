"""Inputs described, not made: the instrument makes them outside every clock, on the case's device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import torch

Dtype: TypeAlias = "str | torch.dtype"
Fill = Literal["normal", "uniform", "integers", "zeros", "ones"]


@dataclass(frozen=True, kw_only=True)
class Input:
    """One tensor to be made: the same values for every variant of a cell in a launch."""

    fill: Fill
    shape: tuple[int, ...]
    dtype: str | None = None
    """A torch dtype's name; None takes the case's dtype."""
    requires_grad: bool = False
    low: int = 0
    high: int = 0

    def __post_init__(self) -> None:
        if not all(isinstance(size, int) and size >= 0 for size in self.shape):
            raise ValueError(f"shape {self.shape} must be whole numbers of at least 0")
        if self.fill == "integers" and self.high <= self.low:
            raise ValueError(f"integers from {self.low} to {self.high}: the range is empty")


def dtype_name(dtype: Dtype | None) -> str | None:
    """The name of a torch dtype, as `c.dtype` is one, without importing torch."""
    return None if dtype is None else str(dtype).removeprefix("torch.")


def randn(*shape: int, dtype: Dtype | None = None, requires_grad: bool = False) -> Input:
    """Standard normal values."""
    return Input(fill="normal", shape=shape, dtype=dtype_name(dtype), requires_grad=requires_grad)


def rand(*shape: int, dtype: Dtype | None = None, requires_grad: bool = False) -> Input:
    """Uniform values between 0 and 1."""
    return Input(fill="uniform", shape=shape, dtype=dtype_name(dtype), requires_grad=requires_grad)


def randint(high: int, *shape: int, low: int = 0, dtype: Dtype = "int64") -> Input:
    """Whole numbers from `low` up to, not including, `high`: tokens and labels."""
    return Input(fill="integers", shape=shape, dtype=dtype_name(dtype), low=low, high=high)


def zeros(*shape: int, dtype: Dtype | None = None, requires_grad: bool = False) -> Input:
    """Zeros. Mind that constant data can run faster than real data."""
    return Input(fill="zeros", shape=shape, dtype=dtype_name(dtype), requires_grad=requires_grad)


def ones(*shape: int, dtype: Dtype | None = None, requires_grad: bool = False) -> Input:
    """Ones. Mind that constant data can run faster than real data."""
    return Input(fill="ones", shape=shape, dtype=dtype_name(dtype), requires_grad=requires_grad)
