"""How much is tried of a grid: all of it where kernels are compiled; in Triton's interpreter, far slower, so
much that everything occurs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice, product
from typing import Any

import torch

COMPILED = torch.cuda.is_available()


def covering(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All combinations; interpreted, so many that every value of every axis occurs."""
    if COMPILED:
        return list(product(*axes))
    longest = max(map(len, axes))
    return list(zip(*(islice(cycle(axis), longest) for axis in axes), strict=True))


def number_of_examples(compiled: int, interpreted: int) -> int:
    """That are drawn for a property."""
    return compiled if COMPILED else interpreted
