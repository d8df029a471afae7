"""Ceilings: the rates that this machine reached when nothing but the rate was asked of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepmark.records.record import Record


class MatrixRate(Record, frozen=True, kw_only=True):
    """The best rate of matrix products in one dtype."""

    dtype: str
    flops_per_second: float
    size: int
    """Of the square product that reached it."""


class Ceilings(Record, frozen=True, kw_only=True):
    """Of one device with one number of threads, measured once and kept."""

    device: str
    threads: int
    torch: str
    """Version."""
    host: str
    """As `machine_name` writes it."""
    measured: float
    """Seconds since the epoch."""
    copy_memory: float
    """Bytes read and written a second, by a copy that no cache holds."""
    copy_cache: float
    """The same by the fastest copy of any size."""
    matrix: tuple[MatrixRate, ...] = ()

    def flops_per_second(self, dtype: str) -> float | None:
        """The matrix rate of a dtype, where it was measured."""
        return next((rate.flops_per_second for rate in self.matrix if rate.dtype == dtype), None)


def machine_name(hostname: str, processor: str, accelerator: str = "") -> str:
    """Of the machine whose rates these are."""
    return ", ".join(part for part in (hostname, processor, accelerator) if part)


def highest(measured: Sequence[Ceilings]) -> Ceilings:
    """Of several measurements on one machine, at least one: each rate at its best, and the newest date."""
    newest = max(measured, key=lambda each: each.measured)
    best: dict[str, MatrixRate] = {}
    for rate in (rate for each in measured for rate in each.matrix):
        best[rate.dtype] = max(best.get(rate.dtype, rate), rate, key=lambda each: each.flops_per_second)
    return replace(
        newest,
        copy_memory=max(each.copy_memory for each in measured),
        copy_cache=max(each.copy_cache for each in measured),
        matrix=tuple(best.values()),
    )
