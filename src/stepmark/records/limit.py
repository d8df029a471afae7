"""The limit: how near a case comes to the best rates of a device, by its work and by the memory it moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stepmark.records.ceilings import Ceilings
from stepmark.records.inspection import PhaseInspection
from stepmark.records.record import Record

SHORT_FLOATS = ("float16", "bfloat16")
NARROW = (*SHORT_FLOATS, "int8")
RELAXED = "tfloat32"
"""The name of float32 products that an accelerator computes with fewer bits."""


class Limit(Record, frozen=True, kw_only=True):
    """Of the primary time of one case."""

    flops_per_second: float
    """Of the counted work; 0 where nothing was counted."""
    bytes_per_second: float | None
    """That its operations read and write; None where the count is of another program (a compiled step)."""
    work_share: float
    """Of the matrix rates, each dtype at its own."""
    memory_share: float
    """Of the rate of copies in memory; of the fastest copy of any size where it is beyond that."""
    in_cache: bool = False
    """Memory is beyond the rate of memory: a cache holds it."""
    at_least: bool = False
    """Some work was done that nobody counted: the true shares may be higher."""

    @property
    def share(self) -> float:
        """The larger one: 1 is the limit."""
        return max(self.work_share, self.memory_share)

    @property
    def by(self) -> str:
        """What it is the share of."""
        if self.work_share >= self.memory_share:
            return "work"
        return "cache" if self.in_cache else "memory"


Rate = Callable[[str], float | None]
"""Operations a second of a dtype; None where nothing bounds it."""


def computing_seconds(phase: PhaseInspection, rate: Rate) -> float:
    """Seconds that the counted work takes at least; a dtype without a ceiling takes none."""
    if not phase.flops:
        return 0.0
    rates = {product.dtype: rate(product.dtype) for product in phase.products}
    all_of_it = sum(product.flops / best for product in phase.products if (best := rates[product.dtype]))
    return all_of_it * (1.0 - min(1.0, phase.skippable_flops / phase.flops))


def fitting_rate(ceilings: Ceilings, *, relaxed: bool) -> Rate:
    """As the settings have a dtype computed: `relaxed` float32 with fewer bits, where that was measured.
    Narrow types may be widened to float32."""

    def rate(dtype: str) -> float | None:
        own, single = ceilings.flops_per_second(dtype), ceilings.flops_per_second("float32")
        if dtype == "float32" and relaxed:
            return max((each for each in (own, ceilings.flops_per_second(RELAXED)) if each), default=None)
        return max(own, single or 0.0) if own is not None and dtype in NARROW else own

    return rate


def highest_rate(ceilings: Ceilings, *, relaxed: bool) -> Rate:
    """That nothing exceeds: `relaxed` float32 may run as fast as the fastest 16-bit type."""
    fitting = fitting_rate(ceilings, relaxed=relaxed)

    def rate(dtype: str) -> float | None:
        own = fitting(dtype)
        if own is None or dtype != "float32" or not relaxed:
            return own
        return max(own, *(ceilings.flops_per_second(short) or 0.0 for short in SHORT_FLOATS))

    return rate


def is_relaxed(flags: Iterable[tuple[str, str]], device: str) -> bool:
    """Whether the settings have float32 computed with fewer bits there: in one word for all devices, or each
    backend in its own."""
    precision = dict(flags).get("float32_matmul_precision", "highest")
    backend = "mkldnn" if device == "cpu" else "cuda"
    return precision != "highest" and f"{backend} ieee" not in precision
