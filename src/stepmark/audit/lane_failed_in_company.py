"""lane-failed-in-company: a case that passed alone failed beside its neighbours.

Evidence. `LaneTrial.failure` in a launch, while the solo pass has none. Want of memory on an accelerator is
          no such failure where the cell was then measured one variant after another.
Why.      It needs more memory than is left, depends on global state, or fails only after many steps. What it
          measured before is kept, but a case that may stop at any step has no verdict.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.settings import Isolation
from stepmark.records.trial import crowded_out


def lane_failed_in_company(case: CaseLanes) -> Finding | None:
    """Once per case, with the place of the first failure."""
    if case.solo is not None and case.solo.failure is not None:
        return None
    last = case.lanes[-1][0].isolation if case.lanes else None
    failures = [
        (launch.number, lane.failure)
        for launch, lane in case.lanes
        if lane.failure is not None and not (last is Isolation.ALONE and crowded_out(launch, lane))
    ]
    if not failures:
        return None
    number, first = failures[0]
    where = f"launch {number}, {first.stage}" + (f", round {first.round}" if first.round is not None else "")
    return Finding(
        name=FindingName.LANE_FAILED_IN_COMPANY,
        severity=Severity.ERROR,
        case=case.id,
        message=(
            f"passed alone but failed in {len(failures)} of {len(case.lanes)} launches, first in {where}: "
            f"{first.outcome}: {first.message}"
        ),
        remedy="measure with --isolation separate, or read the traceback kept with the case",
        numbers=(("failures", float(len(failures))), ("launches", float(len(case.lanes)))),
    )
