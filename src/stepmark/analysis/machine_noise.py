"""The noise of a machine: how far levels of unchanged code wander on it from run to run.

The cases of a run share its mood: however many there are, they tell of one run. So all of them are pooled
for the variance, and its degrees of freedom are counted in runs: those of each code, less one.
"""

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
    runs = {each.run for same in repeated for each in same}
    codes = {each.code for same in repeated for each in same}
    if known is None or len(runs) - len(codes) < MIN_DEGREES:
        return None
    return RunSpread(deviation=known.variance**0.5, num_runs=len(runs))
