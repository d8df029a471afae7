"""The noise of a machine: how far levels of unchanged code wander on it from run to run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stepmark.analysis.run_history import MIN_DEGREES
from stepmark.records.comparison import RunSpread
from stepmark.records.run_summary import RunLevel
from stepmark.stats.between_runs import Group, between_runs


def noise_of_machine(levels: Iterable[RunLevel]) -> RunSpread | None:
    """Pooled over all codes and cases that were measured more than once; None where those are too few."""
    grouped: dict[tuple[str, str], list[RunLevel]] = {}
    for level in levels:
        grouped.setdefault((level.code, level.case), []).append(level)
    repeated = [same for same in grouped.values() if len(same) > 1]
    groups = [
        Group(np.array([each.level for each in same]), np.array([each.error for each in same]))
        for same in repeated
    ]
    known = between_runs(groups)
    if known is None or known.degrees < MIN_DEGREES:
        return None
    runs = {each.run for same in repeated for each in same}
    return RunSpread(deviation=known.variance**0.5, num_runs=len(runs))
