"""How much more than a LoRA layer needs the published kernel computed.

Formula.      T tokens, in -> out features, rank r
              needed    = 2 T r (in + out) + T out          two small products, and the scale
              computed  = 2 T out r (in + 1)                every output element makes the hidden vector anew
Source.       The kernel as published (read, not run).
"""

from __future__ import annotations

from stepmark.records.record import Record

TOKENS = 64
"""Batches of 4 with 16 tokens."""


class KernelWork(Record, frozen=True, kw_only=True):
    """FLOP of one forward pass."""

    features: int
    rank: int

    @property
    def needed(self) -> int:
        return 4 * TOKENS * self.rank * self.features + TOKENS * self.features

    @property
    def computed(self) -> int:
        return 2 * TOKENS * self.features * self.rank * (self.features + 1)

    @property
    def excess(self) -> float:
        return self.computed / self.needed


PUBLISHED_WORK = tuple(
    KernelWork(features=features, rank=rank) for features, rank in ((512, 8), (1024, 8), (2048, 8), (512, 16))
)
"""The four sizes of lora_forward."""
