"""few-launches: too few replications for an interval worth reading.

Evidence. The number of launches in which the case has samples.
Why.      One launch shows nothing of the spread between processes; with two, Student's factor is 12.7 and the
          interval is nearly always wider than any margin; from three on (4.3) it becomes useful.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity

MIN_LAUNCHES = 3


def few_launches(case: CaseLanes) -> Finding | None:
    """For cases that were measured; a failed one has graver troubles."""
    num_launches = len(case.measured)
    failed = any(lane.failure is not None for _, lane in case.lanes)
    if failed or not 0 < num_launches < MIN_LAUNCHES:
        return None
    launches = "launch" if num_launches == 1 else "launches"
    return Finding(
        name=FindingName.FEW_LAUNCHES,
        severity=Severity.WARNING,
        case=case.id,
        message=f"measured in {num_launches} {launches}; an interval over launches needs {MIN_LAUNCHES}",
        remedy="ask for more with --launches, or give the run a larger --budget",
        numbers=(("launches", float(num_launches)),),
    )
