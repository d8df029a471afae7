"""The machine's own unrest, as the jitter probe saw it."""

from __future__ import annotations

from stepmark.doctor.text import share, span, times
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.machine import JitterFacts, MachineFacts

VERY_SLOW_WARNING = 0.05
SLOW_NOTICE = 0.10
LONG_GAP_NOTICE = 0.01
"""Seconds: a scheduler's slice or more."""
SAME_PERIOD = 0.1
"""Relative: the gaps' period is the quota's."""


def check_jitter(facts: MachineFacts) -> Diagnosis:
    jitter = facts.jitter
    state = State.OK
    if jitter.very_slow >= VERY_SLOW_WARNING or jitter.period is not None:
        state = State.WARNING
    elif jitter.slow >= SLOW_NOTICE or jitter.longest_gap >= LONG_GAP_NOTICE:
        state = State.NOTICE
    return Diagnosis(
        check=Check.JITTER,
        state=state,
        seen=_seen(jitter),
        meaning=_meaning(facts),
        remedy=""
        if state is State.OK
        else "see the checks above and below for who it is; more launches average it out",
    )


def _seen(jitter: JitterFacts) -> str:
    slices = f"{jitter.num_slices} slices of {span(jitter.fastest)}"
    slow = f"of {slices} {share(jitter.slow)} took 1.1 times as long, {share(jitter.very_slow)} 1.5 times"
    if not jitter.num_gaps:
        return f"{slow}; the core was never taken away"
    gaps = f"the core was taken away {times(jitter.num_gaps)}, for up to {span(jitter.longest_gap)}"
    return f"{slow}; {gaps}" + (f", every {span(jitter.period)}" if jitter.period is not None else "")


def _meaning(facts: MachineFacts) -> str:
    period = facts.jitter.period
    if period is None:
        return "the same work takes a different time from one moment to the next"
    quota = facts.quota.period_seconds if facts.quota is not None else None
    if quota is not None and abs(period / quota - 1.0) <= SAME_PERIOD:
        return "gaps at the quota's own period: the container's time runs out again and again"
    return "regular gaps: someone takes turns on this core, or a quota above this machine slices its time"
