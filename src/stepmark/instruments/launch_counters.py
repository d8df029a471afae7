"""Counters of the machine around a launch: who used the processor, and what held it back meanwhile.

A process's time, with that of the children it has waited for, stands in /proc/PID/stat; workers are children
of the fork server or of the runner, so that those two, the family, tell what the run used itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stepmark.instruments.activity import machine_ticks, process_fields
from stepmark.instruments.cpu_quota import held_back_seconds
from stepmark.instruments.processor_state import throttles
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.records.trial import LaunchActivity

_IDLE, _WAITING, _STEAL = 3, 4, 7
"""Places in the line `cpu` of /proc/stat that are nobody's work here."""
_OWN_TICKS = slice(11, 15)
"""Places of a process's own time and its children's behind the closing bracket of /proc/PID/stat."""


@dataclass(frozen=True, kw_only=True)
class Counters:
    """At one moment; None is what could not be read."""

    moment: float
    spent: int | None
    """Ticks of all kinds, over all cores."""
    stolen: int | None
    worked: int | None
    """Ticks in which a core did anything for anybody on this machine."""
    family: int | None
    """Ticks of the run's own processes."""
    held_back: Mapping[str, float]
    """Seconds by control group."""
    throttles: int | None


def read_counters(
    files: PseudoFiles, family: Sequence[int], *, now: Callable[[], float] = time.monotonic
) -> Counters:
    """About a millisecond."""
    ticks = machine_ticks(files)
    known = len(ticks) > _STEAL
    idle = {_IDLE, _WAITING, _STEAL}
    own = [process_fields(files.text(f"proc/{pid}/stat") or "")[_OWN_TICKS] for pid in family]
    return Counters(
        moment=now(),
        spent=sum(ticks) if known else None,
        stolen=ticks[_STEAL] if known else None,
        worked=sum(each for place, each in enumerate(ticks) if place not in idle) if known else None,
        family=sum(int(each) for fields in own for each in fields) if all(own) else None,
        held_back=held_back_seconds(files),
        throttles=throttles(files),
    )


def activity_between(
    before: Counters, after: Counters, *, own_seconds: float = 0.0, ticks_per_second: int | None = None
) -> LaunchActivity:
    """What happened between two readings; `own_seconds` of processor time were the run's own too."""
    per_second = ticks_per_second or os.sysconf("SC_CLK_TCK")
    spent, stolen = _difference(before.spent, after.spent), _difference(before.stolen, after.stolen)
    worked, family = _difference(before.worked, after.worked), _difference(before.family, after.family)
    others = None
    if worked is not None and family is not None and after.moment > before.moment:
        seconds = (worked - family) / per_second - own_seconds
        others = max(0.0, seconds / (after.moment - before.moment))
    common = before.held_back.keys() & after.held_back.keys()
    held = [after.held_back[group] - before.held_back[group] for group in common]
    return LaunchActivity(
        stolen=stolen / spent if stolen is not None and spent else None,
        others=others,
        quota_seconds=max(held, default=None),
        throttles=_difference(before.throttles, after.throttles),
    )


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
