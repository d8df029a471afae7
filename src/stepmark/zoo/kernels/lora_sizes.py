"""Sizes of a LoRA layer's products, the tensors they are of, tiles, and the kinds of ways to compute them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor


class Adapted(NamedTuple):
    """One layer's tensors: W (O, I) or none, bias (O) or none, A (I, R), B (R, O), and the scale of A B."""

    weight: Tensor | None
    bias: Tensor | None
    a: Tensor
    b: Tensor
    scale: float

    def to(self, dtype: torch.dtype) -> Adapted:
        weight, bias = (None if one is None else one.to(dtype) for one in self[:2])
        return Adapted(weight, bias, self.a.to(dtype), self.b.to(dtype), self.scale)


class Sizes(NamedTuple):
    """What a way depends on."""

    lead: tuple[int, ...]
    """All dimensions of x but the last."""
    inputs: int
    outputs: int
    rank: int
    precision: str
    """bf16, fp16, or how float32 is multiplied: ieee or tf32."""
    has_weight: bool
    has_bias: bool

    @property
    def rows(self) -> int:
        return prod(self.lead)

    @property
    def most_rows(self) -> int:
        """Rounded up to a power of two: choices are made for all rows up to it."""
        return 1 << (self.rows - 1).bit_length() if self.rows else 0

    def product(self, forward: bool) -> tuple[int, int, int, int]:
        """Rows, depth of the sum, columns, rank."""
        depth, columns = (self.inputs, self.outputs) if forward else (self.outputs, self.inputs)
        return self.rows, depth, columns, self.rank

    def shape(self, forward: bool) -> tuple[int, ...]:
        """Of the output forwards, of x's gradient backwards."""
        return *self.lead, self.outputs if forward else self.inputs


class Tile(NamedTuple):
    """What one program computes, and how."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}x{self.depth}w{self.warps}s{self.stages}"


Outputs = tuple[Tensor, Tensor]
Product = Callable[[Tensor, Adapted], Outputs]
"""Forwards y and s = scale x A of x; backwards dx and h = scale g B^T of g. The thin one is (T, R)."""
Gradients = tuple[Tensor | None, Tensor, Tensor]
"""Of x, where it is wanted, of A and of B."""
Backward = Callable[[Tensor, Tensor, Tensor, Adapted], Gradients]
"""Of g, x, s and the layer."""
Factors = Callable[[Tensor, Tensor, Tensor, Tensor], Outputs]
"""dA and dB of g, x, s and h."""
