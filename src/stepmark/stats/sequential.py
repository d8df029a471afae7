"""Looking more than once: how much of the error rate each look at a growing run may use.

Method.       After 5, 7, 10, 14, 20, ... launches the run looks at its intervals and may stop. Each look gets
              a share of alpha, its interval has the confidence 1 - alpha share, and the shares sum to one, so
              the chance that any interval of any look misses the truth is at most alpha, whatever the
              dependence between looks and whatever made the run stop (Bonferroni's inequality).
Formula.      share = EARLY / NUM_EARLY at each of at most NUM_EARLY early looks,
              1 - the shares of the looks before it at the last one.
Assumptions.  The interval of a single look keeps its own level (student.py). The last look is the last for a
              reason that is not in the data: a budget, a number of launches.
Source.       Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983), for
              spending; Jennison and Turnbull, "Repeated confidence intervals", JRSS B 51 (1989), for
              intervals that hold at every look.
Set apart.    A cell that is measured again in separate processes begins its looks anew: those it had before
              come on top, EARLY of alpha at most.
Costs.        The last interval after 28 launches has a confidence of 95.6 % instead of 95 % and is 3 % wider.
              Exact boundaries, which use the correlation of looks, would win back a part of that.
Unfinished.   A report on a run that goes on, or was stopped by hand and may be resumed, is a look beside the
              planned ones. It has the share of an early one, so that each costs a fiftieth of alpha.
"""

from __future__ import annotations

FIRST = 5
"""Launches before the first look: with fewer, t is so wide that nothing would be decided."""
GROWTH = 2.0**0.5
NUM_EARLY = 10
"""Early looks at most: from 5 to 113 launches."""
EARLY = 0.2
"""Of alpha, for all early looks together."""
EARLY_SHARE = EARLY / NUM_EARLY
"""Of alpha, for one of them."""


def looks(most: int) -> tuple[int, ...]:
    """The numbers of launches at which a run of at most `most` looks early."""
    counts = [round(FIRST * GROWTH**place) for place in range(NUM_EARLY)]
    return tuple(count for count in counts if count < most)


def share(num: int, *, most: int, last: bool) -> float:
    """Of alpha, for the look after `num` launches of a run of at most `most`."""
    if not last:
        return EARLY_SHARE
    before = sum(1 for count in looks(most) if count <= num)
    return 1.0 - before * EARLY_SHARE
