"""Ratios of a case to the baseline: paired by round inside a launch, the interval over launches."""

from __future__ import annotations

import numpy as np

from stepmark.analysis.estimates import resample_launch, to_estimates
from stepmark.analysis.pairing import Paired
from stepmark.records.estimate import Estimate, Method
from stepmark.records.settings import Policy
from stepmark.records.verdict import Look
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.student import exponentiate


def compare(
    paired: Paired, *, policy: Policy, look: Look, generator: np.random.Generator
) -> dict[str, Estimate]:
    """The ratio of each phase; empty where no launch counts. The confidence of the estimates is the policy's,
    which all looks together keep; the interval of this look is as much wider as its share demands."""
    num_launches = len(paired.launches)
    if num_launches == 0 or not paired.phases:
        return {}
    confidence = confidence_of(look, policy)
    if num_launches == 1:
        rounds = paired.logs[:, 0]
        over_rounds = resample_launch(rounds, "median", confidence=confidence, generator=generator)
        interval, method = exponentiate(over_rounds), Method.BOOTSTRAP_BLOCKS
    else:
        interval = ratio_of_centres(paired.centres, confidence=confidence)
        method = Method.T_LAUNCHES
    estimates = to_estimates(
        interval, [num_launches] * len(paired.phases), confidence=policy.confidence, method=method
    )
    return dict(zip(paired.phases, estimates, strict=True))


def confidence_of(look: Look, policy: Policy) -> float:
    """Of the interval of one look."""
    return 1.0 - (1.0 - policy.confidence) * look.share
