"""A section of the page: a table, what was demanded of it, and whether the data meet it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import fill

from benchmarks.verdicts.rates import Effect, Rate

WIDTH = 110

NAMES = {
    "norm_softmax": "layer norm + softmax",
    "lora": "LoRA forward",
    "linear": "linear forward + backward",
    "adamw": "AdamW step",
}


class Met(StrEnum):
    MET = "met"
    NOT_MET = "not met"
    TIED = "tied"
    NO_DATA = "no data"


@dataclass(frozen=True)
class Demand:
    """Something promised, and what the data say about it."""

    text: str
    met: Met
    evidence: str


@dataclass(frozen=True)
class Section:
    title: str
    text: str
    table: str
    demands: Sequence[Demand] = ()
    closing: str = ""

    def markdown(self) -> str:
        parts = [f"## {self.title}", fill(self.text, WIDTH), self.table, fill(self.closing, WIDTH)]
        if self.demands:
            parts.append(
                table(("demanded", "", "found"), [(d.text, f"**{d.met}**", d.evidence) for d in self.demands])
            )
        return "\n\n".join(part for part in parts if part)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def at_most(text: str, rates: dict[str, Rate], limit: float) -> Demand:
    """Every rate is at most the limit."""
    return _each(text, rates, lambda rate: rate.value <= limit)


def at_least(text: str, rates: dict[str, Rate], limit: float) -> Demand:
    return _each(text, rates, lambda rate: rate.value >= limit)


def between(text: str, rates: dict[str, Rate], low: float, high: float) -> Demand:
    return _each(text, rates, lambda rate: low <= rate.value <= high)


def _each(text: str, rates: dict[str, Rate], holds: Callable[[Rate], bool]) -> Demand:
    measured = {name: rate for name, rate in rates.items() if rate.of}
    evidence = "; ".join(f"{name} {rate_text(rate)}" for name, rate in measured.items())
    if not measured or len(measured) < len(rates):
        return Demand(text, Met.NO_DATA, evidence or "nothing measured")
    met = all(holds(rate) for rate in measured.values())
    return Demand(text, Met.MET if met else Met.NOT_MET, evidence)


def rate_text(rate: Rate) -> str:
    """`2/41 = 5 % [1–17]`."""
    if not rate.of:
        return "–"
    bounds = f"{100 * rate.low:.0f}–{100 * rate.high:.0f}"
    return f"{rate.num}/{rate.of} = {_share(rate)} % [{bounds}]"


def count_text(rate: Rate) -> str:
    """`95 % of 40`."""
    return f"{_share(rate)} % of {rate.of}" if rate.of else "–"


def _share(rate: Rate) -> str:
    return f"{100 * rate.value:.1f}".removesuffix(".0")


def effect_text(effect: Effect | None) -> str:
    if effect is None:
        return "–"
    low, value, high = (number(100 * size) for size in (effect.low, effect.value, effect.high))
    return f"{value} % [{low}–{high}]"


def percent(fraction: float, *, digits: int = 2) -> str:
    return "–" if math.isnan(fraction) else f"{100 * fraction:.{digits}f} %"


def number(value: float) -> str:
    """Two digits: no more are worth reading."""
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def threads_text(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
