"""Samples: the ordered raw observations of one phase of one lane; nothing is ever dropped.

An observation is a block: the summed time of `iterations` iterations, in nanoseconds. Blocks are stored in
round order as packed little-endian 64-bit integers, which NumPy reads without copying.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable

from stepmark.records.record import Record


def pack(values: Iterable[int]) -> bytes:
    """Integers as little-endian int64."""
    packed = array("q", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(packed: bytes) -> array[int]:
    """The inverse of `pack`."""
    values = array("q")
    values.frombytes(packed)
    if sys.byteorder == "big":
        values.byteswap()
    return values


class Sample(Record, frozen=True, kw_only=True):
    """One phase of one lane through one launch."""

    phase: str
    iterations: int
    """Iterations per block: divide by it for the time of one iteration."""
    nanoseconds: bytes
    """One packed total per block, in round order."""
    host: bytes = b""
    """The host's time for the same iterations, packed likewise: how long it took to ask for the work. Empty
    where the host does the work itself."""
    lag: bytes = b""
    """How far the device was behind the host when the phase ended, in nanoseconds, packed likewise: a mean
    over the block's iterations. Near zero the device waited for the host. Empty as `host` is."""

    @property
    def num_blocks(self) -> int:
        return len(self.nanoseconds) // 8


class Total(Record, frozen=True, kw_only=True):
    """A named sum of phases."""

    name: str
    parts: tuple[str, ...]


class Layout(Record, frozen=True, kw_only=True):
    """What a case's samples are called and which of them a verdict is about."""

    phases: tuple[str, ...]
    """Measured, in the order they run."""
    primary: str
    """The phase or total that answers "is it faster?"."""
    totals: tuple[Total, ...] = ()
    """Sums formed in the analysis."""
    whole: str | None = None
    """A phase that spans all others; what they do not explain of it is the remainder."""

    def __post_init__(self) -> None:
        totals = [total.name for total in self.totals]
        names = [*self.phases, *totals]
        if len(set(names)) < len(names):
            raise ValueError(f"phases and totals need names of their own: {names}")
        if self.primary not in names:
            raise ValueError(f"primary '{self.primary}' is none of {names}")
        if self.whole is not None and self.whole not in self.phases:
            raise ValueError(f"whole '{self.whole}' is none of {self.phases}")
        if not all(total.parts for total in self.totals):
            raise ValueError("a total needs parts")
        unknown = {part for total in self.totals for part in total.parts} - {*self.phases}
        if unknown:
            raise ValueError(f"totals name unknown phases: {sorted(unknown)}")
