"""Operator uses: what each operator of a phase adds up to, the largest kept and the rest summed.

Timing model: `nanoseconds` is from just before an operator's call to just after it, on the host, inside the
instrumented step: the dispatcher's way to the kernel is in it, the notes taken about the call are not. An
operator made of others is never called itself, only they are; one that hides others (a kernel written in
Python) has their time, and they have none. So no moment is counted twice. On an accelerator the host's clock
only sees the launch, so there no time is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepmark.records.inspection import OTHERS, OperatorUse

MOST_KEPT = 20
"""Operators of a phase with an entry of their own: those with the largest share of time, work or traffic. In
the quick steps of the transformer suite the others together took less than 2 % of a phase's time, and of its
traffic."""


@dataclass
class Use:
    """The calls of one operator so far."""

    calls: int = 0
    flops: float = 0.0
    traffic: float = 0.0
    nanoseconds: int = 0


def used_operators(uses: Mapping[str, Use], *, timed: bool) -> tuple[OperatorUse, ...]:
    """The longest first, or those with the largest share where no time is told; the others last."""
    flops, traffic = (
        sum(one.flops for one in uses.values()),
        sum(one.traffic for one in uses.values()),
    )
    nanoseconds = sum(one.nanoseconds for one in uses.values()) if timed else 0

    def largest_share(one: Use) -> float:
        parts = ((one.flops, flops), (one.traffic, traffic), (one.nanoseconds, nanoseconds))
        return max(part / whole if whole else 0.0 for part, whole in parts)

    ranked = sorted(uses, key=lambda name: (-largest_share(uses[name]), name))
    kept = ranked if len(ranked) <= MOST_KEPT + 1 else ranked[:MOST_KEPT]
    if timed:
        kept = sorted(kept, key=lambda name: (-uses[name].nanoseconds, name))
    told = [_told(name, uses[name], timed=timed) for name in kept]
    rest = [uses[name] for name in ranked[len(kept) :]]
    return (*told, _told(OTHERS, _summed(rest), timed=timed)) if rest else tuple(told)


def _summed(uses: list[Use]) -> Use:
    return Use(
        calls=sum(one.calls for one in uses),
        flops=sum(one.flops for one in uses),
        traffic=sum(one.traffic for one in uses),
        nanoseconds=sum(one.nanoseconds for one in uses),
    )


def _told(name: str, use: Use, *, timed: bool) -> OperatorUse:
    return OperatorUse(
        name=name,
        calls=use.calls,
        flops=use.flops,
        traffic=use.traffic,
        seconds=use.nanoseconds * 1e-9 if timed else None,
    )
