"""Replay: what the early stopping would have done with launches that were all measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepmark.analysis.compare import confidence_of
from stepmark.analysis.stopping import look_at
from stepmark.analysis.verdict import decide_bounds
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import VerdictKind
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.sequential import looks


class Replayed(NamedTuple):
    """The end of a run that was allowed to stop."""

    verdict: VerdictKind
    point: float
    low: float
    high: float
    num_launches: int


def replay(centres: Sequence[float], *, most: int, policy: Policy) -> Replayed:
    """Stop at the first look that decides, else after all launches there are; one launch decides nothing."""
    measured = np.array(centres)
    settings = Settings(launches=most, stop=True)
    ends = [num for num in looks(most) if num < measured.size]
    for num in [*ends, measured.size]:
        look = look_at([measured[:num]], num, settings=settings, policy=policy, num_comparisons=1)
        if look.early or num == measured.size:
            break
    interval = ratio_of_centres(measured[:num], confidence=confidence_of(look, policy))
    point, low, high = (float(edge) for edge in interval)
    return Replayed(decide_bounds(low, high, margin=policy.margin), point, low, high, num)
