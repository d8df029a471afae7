"""Causes of a slow start: what the gauges showed in the slow iterations and not in the steady ones.

Slow are the iterations before the steady part that take longer than its level by more than the tolerance;
where a launch never settles, all that do. The time lost is what they take above the level. A cause is named
where most launches with a slow start show it, and, where its time is known, it explains a visible share.

kind              seen by                                       its time
compilation       torch's own counters                          torch's own clock
autotuning        torch's own counters                          torch's own clock
optimizer-state   bytes of state grow                           the optimizer's phase above its level
page-faults       faults beyond those of a steady iteration     their number times the measured cost of one
clock-ramp        a fixed piece of work is slower than in any   the same share of the iteration
                  steady iteration, from the first on
device-memory     calls of the device's allocator               not known
lazy-imports      new Python modules                            not known
threads-started   new threads                                   not known
unknown           what known times leave of the time lost

Faults and clock are not looked at in iterations that compile: the compiler faults and heats for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stepmark.records.warmup import Course, Reading, SlowStart, StartCause, WarmupTrial
from stepmark.stats.arrays import BoolArray, FloatArray, IntArray
from stepmark.stats.quantile import median
from stepmark.stats.steady import TOLERANCE
from stepmark.stats.tukey import fences

VISIBLE = 0.05
"""Share of the time lost below which a cause with a known time is not worth naming."""
UNEXPLAINED = 0.25
"""Share of the time lost above which the rest is called unknown."""
RAMP = 1.05
"""A spin slower than this times its steady level, and than the outer fence of the steady ones."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """How one launch began."""

    trial: WarmupTrial
    course: Course
    warmup: int | None
    level: float
    """Seconds."""
    seconds: FloatArray
    """Of the primary phase, by iteration."""
    optimizer: FloatArray | None
    """Of the optimizer's phase."""

    @cached_property
    def slow(self) -> BoolArray:
        """Which iterations belong to the slow start."""
        over = self.seconds > self.level * (1.0 + TOLERANCE)
        end = self.seconds.size if self.warmup is None else self.warmup
        slow: BoolArray = over & (np.arange(self.seconds.size) < end)
        return slow

    @cached_property
    def lost(self) -> FloatArray:
        """Seconds above the level, by iteration; 0 where it is not slow."""
        return np.where(self.slow, self.seconds - self.level, 0.0)

    @property
    def lost_seconds(self) -> float:
        return float(self.lost.sum())

    def rises(self, gauge: str) -> FloatArray:
        """By how much the gauge rose in each iteration."""
        return np.diff(self.readings(gauge))

    def readings(self, gauge: str) -> FloatArray:
        """Before the first iteration, and after each."""
        assert self.trial.before is not None
        seen: list[Reading] = [self.trial.before, *(one.after for one in self.trial.iterations)]
        return np.array([getattr(reading, gauge) for reading in seen], dtype=np.float64)

    @cached_property
    def compiles(self) -> BoolArray:
        """Which iterations compiled something."""
        return (self.rises("compilations") > 0) | (self.rises("compile_seconds") > 0)

    def steady_of(self, values: FloatArray) -> float:
        """The median over the iterations that are not slow."""
        return float(median(values[~self.slow])) if not self.slow.all() else 0.0


class Seen(NamedTuple):
    """One cause in one launch."""

    where: BoolArray
    amount: float
    seconds: float | None = None
    names: tuple[str, ...] = ()


Look = Callable[[Start], Seen | None]


def find_causes(starts: Sequence[Start]) -> tuple[StartCause, ...]:
    """Over all launches with a slow start; empty where there is none."""
    slow = [start for start in starts if start.slow.any()]
    if 2 * len(slow) <= len(starts):
        return ()
    found = [cause for kind, look in _LOOKS.items() if (cause := _over_launches(kind, look, slow))]
    known = [cause for cause in found if cause.seconds is not None]
    known.sort(key=lambda cause: -(cause.seconds or 0.0))
    coinciding = [cause for cause in found if cause.seconds is None]
    return (*known, *coinciding, *_unknown(slow, [cause.kind for cause in known]))


def _over_launches(kind: SlowStart, look: Look, slow: Sequence[Start]) -> StartCause | None:
    seen = [(start, what) for start in slow if (what := _visible(look, start)) is not None]
    if 2 * len(seen) <= len(slow):
        return None
    places = _usual_places([what.where for _, what in seen])
    shares = [what.seconds / start.lost_seconds for start, what in seen if what.seconds is not None]
    share = _typical(shares) if shares else None
    return StartCause(
        kind=kind,
        first=int(places[0]),
        last=int(places[-1]),
        launches=len(seen),
        amount=_typical([what.amount for _, what in seen]),
        seconds=None if share is None else share * time_lost(slow),
        share=share,
        names=tuple(sorted({name for _, what in seen for name in what.names})),
    )


def _visible(look: Look, start: Start) -> Seen | None:
    seen = look(start)
    if seen is None or not seen.where.any():
        return None
    small = seen.seconds is not None and seen.seconds < VISIBLE * start.lost_seconds
    return None if small else seen


def _unknown(slow: Sequence[Start], kinds: Sequence[SlowStart]) -> tuple[StartCause, ...]:
    """The rest, where known times leave a large one."""
    share = _typical([1.0 - _explained(start, kinds) / start.lost_seconds for start in slow])
    if share < UNEXPLAINED:
        return ()
    places = _usual_places([start.slow for start in slow])
    return (
        StartCause(
            kind=SlowStart.UNKNOWN,
            first=int(places[0]),
            last=int(places[-1]),
            launches=len(slow),
            amount=0.0,
            seconds=share * time_lost(slow),
            share=share,
        ),
    )


def _usual_places(rows: Sequence[BoolArray]) -> IntArray:
    """The iterations that half of the launches agree on; where they agree on none, those of any."""
    usual = np.flatnonzero(2 * np.sum(rows, axis=0) >= len(rows))
    return usual if usual.size else np.flatnonzero(np.any(rows, axis=0))


def _explained(start: Start, kinds: Sequence[SlowStart]) -> float:
    seen = [_visible(_LOOKS[kind], start) for kind in kinds]
    return sum(what.seconds or 0.0 for what in seen if what is not None)


def time_lost(starts: Sequence[Start]) -> float:
    """Seconds, the median over the launches with a slow start; 0 where most have none."""
    slow = [start.lost_seconds for start in starts if start.slow.any()]
    return _typical(slow) if 2 * len(slow) > len(starts) else 0.0


def _typical(values: Sequence[float]) -> float:
    return float(median(np.array(values, dtype=np.float64)))


def _compilation(start: Start) -> Seen:
    where = start.slow & start.compiles
    spent = float(start.rises("compile_seconds")[where].sum())
    return Seen(where, float(start.rises("compilations")[where].sum()), spent)


def _autotuning(start: Start) -> Seen:
    rises = start.rises("autotune_seconds")
    where = start.slow & (rises > 0)
    spent = float(rises[where].sum())
    return Seen(where, spent, spent)


def _optimizer_state(start: Start) -> Seen | None:
    if start.optimizer is None:
        return None
    rises = start.rises("optimizer_state_bytes")
    where = start.slow & (rises > 0)
    above = start.optimizer - start.steady_of(start.optimizer)
    return Seen(where, float(rises[where].sum()), float(np.maximum(above, 0.0)[where].sum()))


def _page_faults(start: Start) -> Seen | None:
    if start.trial.seconds_per_fault is None:
        return None
    faults = start.rises("minor_faults")
    extra = np.maximum(faults - start.steady_of(faults), 0.0)
    where = start.slow & ~start.compiles & (extra > 0)
    num = float(extra[where].sum())
    return Seen(where, num, num * start.trial.seconds_per_fault)


def _clock_ramp(start: Start) -> Seen | None:
    """A clock that ramps is slow from the first iteration on; a neighbour may take the core at any time."""
    spins = start.readings("spin_nanoseconds")
    around = (spins[1:] + spins[:-1]) / 2.0
    level = max(start.steady_of(around), 1.0)
    slowdown = around / level
    candidates = start.slow & ~start.compiles
    where = candidates & (slowdown >= RAMP) & (around > fences(around[~start.slow]).high_severe)
    if not where[np.argmax(candidates)]:
        return None
    explained = np.minimum(start.seconds * (1.0 - 1.0 / np.maximum(slowdown, 1.0)), start.lost)
    return Seen(where, _typical(slowdown[where].tolist()), float(explained[where].sum()))


def _device_memory(start: Start) -> Seen:
    where = start.slow & (start.rises("device_allocations") > 0)
    return Seen(where, float(start.rises("device_bytes")[where].sum()))


def _lazy_imports(start: Start) -> Seen:
    rises = start.rises("modules")
    where = start.slow & (rises > 0)
    names = {name for place in np.flatnonzero(where) for name in start.trial.iterations[place].new_modules}
    return Seen(where, float(rises[where].sum()), names=tuple(names))


def _threads_started(start: Start) -> Seen:
    rises = start.rises("threads")
    where = start.slow & (rises > 0)
    return Seen(where, float(rises[where].sum()))


_LOOKS: dict[SlowStart, Look] = {
    SlowStart.COMPILATION: _compilation,
    SlowStart.AUTOTUNING: _autotuning,
    SlowStart.OPTIMIZER_STATE: _optimizer_state,
    SlowStart.PAGE_FAULTS: _page_faults,
    SlowStart.CLOCK_RAMP: _clock_ramp,
    SlowStart.DEVICE_MEMORY: _device_memory,
    SlowStart.LAZY_IMPORTS: _lazy_imports,
    SlowStart.THREADS_STARTED: _threads_started,
}
