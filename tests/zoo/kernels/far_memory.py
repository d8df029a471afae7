"""Memory as large as a GPU's, there where it is touched: for offsets that 32 bits do not hold."""

from __future__ import annotations

import mmap

import torch
from torch import Tensor

NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
"""Linux's; Python names it from 3.13 on."""


class FarMemory:
    """Noughts in `reach` entries before the base and `reach` behind it: where an offset has wrapped round it
    hits these, and nobody else's memory."""

    def __init__(self, dtype: torch.dtype, reach: int) -> None:
        self.dtype, self.reach = dtype, reach
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
        self._memory = mmap.mmap(-1, 2 * reach * dtype.itemsize, flags=flags)

    def at(self, place: int, count: int = 1) -> Tensor:
        """So many entries; no more than these belong to the tensor, whatever a kernel reads from there on."""
        offset = (self.reach + place) * self.dtype.itemsize
        return torch.frombuffer(self._memory, dtype=self.dtype, count=count, offset=offset)

    @property
    def base(self) -> Tensor:
        return self.at(0)
