"""Displacement: memory taken before a lane is built, so that the lane comes to lie elsewhere.

A process that builds the same thing again gets the same addresses again, and with them the same accidents:
buffers whose addresses agree in their low bits, pages that share a place in a cache. With a displacement
before each, building anew draws another accident (`python -m benchmarks.renewals` has what that buys).
"""

from __future__ import annotations

from random import Random

import torch

LINE = 64
PAGE = 4096
MOST_LINES = 64
MOST_PAGES = 256


def displace(random: Random) -> list[torch.Tensor]:
    """Two pieces of memory to hold while the lane lives: one of some cache lines, which moves small tensors,
    one of some pages, which moves large ones. They are written to, because untouched pages take no place."""
    sizes = random.randint(1, MOST_LINES) * LINE, random.randint(1, MOST_PAGES) * PAGE
    return [torch.ones(size, dtype=torch.uint8) for size in sizes]
