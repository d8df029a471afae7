"""warm-up-unfinished: in most launches the first rounds of a case are slower than the later ones.

Evidence. Per launch, the log time of the first tenth of the rounds minus that of the last half, by medians.
          What the machine does to a round it does to all lanes, so the median of the other lanes in the same
          round is taken off first, where there are others (with its own time among them, a lane of two would
          lose half of its change). Launches in which the difference is 2 % or more are counted, and the count
          is held against a fair coin (sign test, 5 %): five of five, or ten of twelve. The plain times must
          have fallen too, by half of that at least: else a neighbour slowed down.
Why.      The warm-up ended too early: compilation, autotuning, caches or allocators were still at work, and
          the first rounds count like all others.
"""

from __future__ import annotations

import math

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.primary import primary_seconds
from stepmark.audit.quantities import percent
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.trial import LaneTrial, LaunchTrial
from stepmark.stats.arrays import FloatArray
from stepmark.stats.blocks import integers
from stepmark.stats.quantile import median

EFFECT = 0.02
"""Smaller changes are within what the rounds of a steady lane do."""
MIN_ROUNDS = 10
"""Fewer have no first tenth."""
ALPHA = 0.05
SHORTEST = 1e-12
"""Seconds: stands for a time below the clock's resolution, so that it has a logarithm."""


def warm_up_unfinished(case: CaseLanes) -> Finding | None:
    """Once per case, for its primary phase."""
    if not _may_have_fallen(case):
        return None
    falls = [fall for launch, lane in case.lanes if (fall := _falls(launch, lane)) is not None]
    if not falls:
        return None
    own, relative = np.array(falls).T
    num_slow = int(np.count_nonzero(relative >= math.log1p(EFFECT)))
    typical = float(median(relative))
    if not _more_than_chance(num_slow, len(falls)) or float(median(own)) < typical / 2:
        return None
    return Finding(
        name=FindingName.WARM_UP_UNFINISHED,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"the first tenth of the rounds is {percent(math.expm1(typical))} slower than the last half, by "
            f"{percent(EFFECT)} or more in {num_slow} of {len(falls)} launches"
        ),
        remedy="`stepmark warmup` shows how many iterations it takes, and why",
        numbers=(("fall", math.expm1(typical)), ("slow", float(num_slow)), ("launches", float(len(falls)))),
    )


def _may_have_fallen(case: CaseLanes) -> bool:
    """Whether the plain times fell by half of the effect in a typical launch, without which the rest, which
    looks at every neighbour, need not be asked."""
    times = [seconds for seconds in case.blocks if seconds is not None]
    own = [_fall(np.log(np.maximum(seconds, SHORTEST))) for seconds in times if seconds.size >= MIN_ROUNDS]
    return bool(own) and float(median(np.array(own))) >= math.log1p(EFFECT) / 2


def _more_than_chance(successes: int, trials: int) -> bool:
    """Whether a fair coin shows heads this often in at most 5 % of cases."""
    tail = sum(math.comb(trials, k) for k in range(successes, trials + 1))
    return bool(tail <= ALPHA * 2.0**trials)


def _falls(launch: LaunchTrial, lane: LaneTrial) -> tuple[float, float] | None:
    """How far the lane's log time falls in the course of the launch: by itself, and beside its neighbours."""
    rows = _log_times(launch)
    mine = rows.pop(lane.variant, None)
    if mine is None or np.count_nonzero(~np.isnan(mine)) < MIN_ROUNDS:
        return None
    relative = mine - median(np.stack(list(rows.values()), axis=-1)) if rows else mine
    if np.count_nonzero(~np.isnan(relative)) < MIN_ROUNDS:
        return None
    return _fall(mine), _fall(relative)


def _log_times(launch: LaunchTrial) -> dict[str, FloatArray]:
    """Of every lane, by round; NaN where a lane has no block, or one below the clock's resolution."""
    width = max((int(integers(lane.rounds).max()) + 1 for lane in launch.lanes if lane.rounds), default=0)
    rows = {}
    for lane in launch.lanes:
        seconds = primary_seconds(lane)
        if seconds is None or not lane.rounds:
            continue
        row = np.full(width, np.nan)
        row[integers(lane.rounds)] = np.where(seconds > 0.0, seconds, np.nan)
        rows[lane.variant] = np.log(row)
    return rows


def _fall(logs: FloatArray) -> float:
    there = logs[~np.isnan(logs)]
    return float(median(there[: there.size // 10]) - median(there[there.size // 2 :]))
