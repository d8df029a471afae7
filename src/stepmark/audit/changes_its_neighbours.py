"""changes-its-neighbours: beside the others a lane runs at another level than alone.

Evidence. The case's level in launches without company against its level in launches with it, each launch one
          median of the primary phase (stats/company.py): the whole 99 % interval of their ratio lies beyond 5
          %. Believed only when the case has run alone often enough.
Why.      Lanes share caches, allocator, threads and global settings. What company adds is not the layer's
          own, and where it adds more to one lane than to another the ratio is wrong. The cell is then
          measured again in separate processes, as far as the budget goes.
"""

from __future__ import annotations

import math

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.settings import Isolation
from stepmark.records.trial import Role
from stepmark.stats.arrays import FloatArray
from stepmark.stats.company import change_in_company, is_changed


def changes_its_neighbours(case: CaseLanes) -> Finding | None:
    """Once per case, with both numbers of launches."""
    alone = _levels(case, Role.ALONE)
    if alone.size < case.run.settings.enough_alone:
        return None
    company = _levels(case, Role.MEASURE)
    change = change_in_company(company, alone)
    if not is_changed(change):
        return None
    factor, low, high = (math.exp(float(edge)) for edge in change)
    return Finding(
        name=FindingName.CHANGES_ITS_NEIGHBOURS,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"takes {factor:.2f} times as long beside the others as alone ({low:.2f} to {high:.2f}; "
            f"{company.size} launches in company, {alone.size} alone)"
        ),
        remedy=f"{_what_became(case)}; look for threads, caches or global state",
        numbers=(("ratio", factor), ("ratio_low", low), ("ratio_high", high)),
    )


def _what_became(case: CaseLanes) -> str:
    """A budget may end before the cell is measured again."""
    if any(launch.isolation is not Isolation.SHARED for launch, _ in case.lanes):
        return "its cell was measured again in separate processes"
    return "the run ended before its cell was measured apart: do that with --isolation separate"


def _levels(case: CaseLanes, role: Role) -> FloatArray:
    """One median per launch of this role that had all its lanes in one process."""
    levels = np.array(
        [
            level
            for (launch, _), level in zip(case.lanes, case.levels, strict=True)
            if level is not None and launch.role is role and launch.isolation is Isolation.SHARED
        ]
    )
    positive: FloatArray = levels[levels > 0.0]
    return positive
