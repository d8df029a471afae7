"""Cases of FragmentedLinear's kernels: tensors, and what float64 makes of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.fragmented_reference import hard_reference
from stepmark.zoo.kernels.fragmented_sizes import Parameters


def draw(shape: tuple[int, ...], dtype: torch.dtype, device: str, *, bias: bool = True) -> Any:
    """x and parameters for rows, fragments, features a fragment, outputs and narrow features."""
    rows, number, size, outputs, narrow = shape

    def normal(*sizes: int) -> Tensor:
        return torch.randn(sizes, device=device).to(dtype)

    low = normal(number * size, narrow), normal(outputs, narrow)
    parameters = Parameters(
        normal(number, size), normal(number, size, outputs), *low, normal(outputs) if bias else None
    )
    return normal(rows, number * size), parameters


def in_float64(x: Tensor, parameters: Parameters) -> Tensor:
    wide = [None if one is None else one.cpu().double() for one in parameters]
    return hard_reference(x.cpu().double(), *wide[:4], bias=wide[4])  # type: ignore[arg-type]
