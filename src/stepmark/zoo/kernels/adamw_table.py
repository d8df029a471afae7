"""The tables of a fused Adam step: where its tensors lie, and which program takes which piece of them.

Tensors    one row of eight 64-bit integers each: addresses of parameter, gradient, both moments, the count of
           steps and the learning rate; the row of the settings; nothing
Pieces     one row of four 32-bit integers each: the tensor, where the piece starts in it, in UNITs, its
           length, and whether 16-byte accesses are allowed. Where they are and UNIT does not divide a
           tensor, its end is a piece of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

UNIT = 16
"""Entries: enough for 16-byte accesses of any dtype."""


class Place(NamedTuple):
    """Addresses of one tensor's parts and the row of its settings: a row of the table."""

    parameter: int
    gradient: int
    first: int
    second: int
    steps: int
    lr: int
    group: int
    nothing: int = 0

    def is_aligned(self) -> bool:
        return all(address % 16 == 0 for address in self[:4])


def pieces_of(lengths: Sequence[int], aligned: Sequence[bool], size: int) -> Tensor:
    """(pieces, 4), the pieces of one tensor after the other."""
    parts = [_pieces(index, *one, size) for index, one in enumerate(zip(lengths, aligned, strict=True))]
    return torch.cat(parts) if parts else torch.empty((0, 4), dtype=torch.int32)


def _pieces(index: int, length: int, aligned: bool, size: int) -> Tensor:
    even = length - length % UNIT if aligned else length
    starts = torch.arange(0, even, size)
    rows = torch.empty((len(starts) + int(even < length), 4), dtype=torch.int32)
    rows[:, 0] = index
    rows[: len(starts), 1] = starts // UNIT
    rows[: len(starts), 2] = (even - starts).clamp(max=size)
    rows[: len(starts), 3] = int(aligned)
    if even < length:
        rows[-1, 1:] = torch.tensor([even // UNIT, length - even, 0])
    return rows
