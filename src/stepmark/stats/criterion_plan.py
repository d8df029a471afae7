"""Criterion's sampling plan: how many iterations it would put into each of its samples.

Method.       The mean time of an iteration, known from warming up, decides between two plans. Linear: sample
              i runs i d iterations, so that a line through the origin can be fitted. Flat: every sample runs
              k iterations; taken where even the shortest linear plan would last twice the time allowed.
Formula.      R = n (n+1) / 2,  d = max(1, ceil(target / m / R)),  k = max(1, ceil(target / n / m))
              flat if R d m > 2 target;  estimated time = m sum(iterations)
              With d = 1 or k = 1 the target is missed. The number of samples advised then is
              floor((sqrt(4 target/m) - 1) / 2) or floor(target/m), down to a multiple of 10, at least 10.
Assumptions.  An iteration takes as long while sampling as it did while warming up.
Source.       The sampling of Criterion.rs 0.5.1 (Apache-2.0/MIT), restated, not copied.
Fails.        When warming up was not typical: a plan for 5 s then takes what it takes.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple


class Sampling(StrEnum):
    LINEAR = "linear"
    FLAT = "flat"


class Plan(NamedTuple):
    """What each sample runs."""

    sampling: Sampling
    step: int
    """d of a linear plan, k of a flat one."""
    iterations: tuple[int, ...]
    """One number a sample."""
    seconds: float
    """All samples, estimated."""
    advised_samples: int | None
    """How many samples the target would allow, where this plan misses it; None where it does not."""


def plan_samples(seconds: float, *, num_samples: int = 100, target: float = 5.0) -> Plan:
    """For iterations that take `seconds` each."""
    num_units = num_samples * (num_samples + 1) // 2
    step = max(1, math.ceil(target / seconds / num_units))
    if num_units * step * seconds <= 2.0 * target:
        sampling, iterations = Sampling.LINEAR, tuple(step * i for i in range(1, num_samples + 1))
        affordable = (math.sqrt(4.0 * target / seconds) - 1.0) / 2.0
    else:
        step = max(1, math.ceil(target / num_samples / seconds))
        sampling, iterations = Sampling.FLAT, (step,) * num_samples
        affordable = target / seconds
    return Plan(
        sampling=sampling,
        step=step,
        iterations=iterations,
        seconds=seconds * sum(iterations),
        advised_samples=max(10, int(affordable) // 10 * 10) if step == 1 else None,
    )
