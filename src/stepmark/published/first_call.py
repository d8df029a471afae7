"""The first call behind a mean and a deviation: how long compilation took in the table without warm-up.

Method.       Of n timed steps one is far from the rest. Mean and population deviation then say what that one
              took, and what the others did.
Formula.      d = first - rest;  mean = rest + d / n;  deviation = d sqrt(n - 1) / n
              with n = 10:  deviation = 0.3 d,  first = mean + 3 deviation,  rest = mean - deviation / 3
Assumptions.  The others are equal: `rest` must then agree with the table that was warmed up.
Source.       Elementary; the published table reports mean and numpy.std (ddof 0).
Fails.        Where no step stands out: first and rest are then one deviation's worth of noise apart.
"""

from __future__ import annotations

import math

from stepmark.interchange.grid import GridDocument
from stepmark.published.transformer import COLD, NUM_STEPS, PHASES, WARM, Timing, tables, timings
from stepmark.records.record import Record

OUTSTANDING = 2.0
"""A first call is one where it takes this many times as long as the rest."""


class FirstCall(Record, frozen=True, kw_only=True):
    """One phase of one size, in seconds."""

    size: str
    phase: str
    first: float
    rest: float
    """Each of the others."""
    warm: float
    """After five steps of warm-up: what `rest` should be."""

    @property
    def stands_out(self) -> bool:
        return self.first > OUTSTANDING * self.rest

    @property
    def compilation(self) -> float:
        """What the first call took beyond the others."""
        return self.first - self.rest


def recover(timing: Timing, *, num_steps: int = NUM_STEPS) -> tuple[float, float]:
    """The one outstanding step, and each of the others."""
    distance = timing.deviation * num_steps / math.sqrt(num_steps - 1)
    rest = timing.mean - distance / num_steps
    return rest + distance, rest


def first_calls(document: GridDocument) -> tuple[FirstCall, ...]:
    """Forward of every size, then backward."""
    found = tables(document)
    calls = []
    for phase in PHASES:
        warm = timings(found[WARM], phase)
        for size, timing in timings(found[COLD], phase).items():
            first, rest = recover(timing)
            calls.append(FirstCall(size=size, phase=phase, first=first, rest=rest, warm=warm[size].mean))
    return tuple(calls)
