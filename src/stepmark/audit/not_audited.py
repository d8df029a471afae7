"""not-audited: the instrumented step of a case could not be finished.

Evidence. The reason that the inspection kept when it broke off. Rules still look at what it had seen until
          then.
Why.      Silence of the other rules means less than usual here.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity


def not_audited(case: CaseLanes) -> Finding | None:
    """Once per case; an audit that was not asked for is no finding."""
    if case.inspection is None or not case.inspection.problem:
        return None
    return Finding(
        name=FindingName.NOT_AUDITED,
        severity=Severity.NOTE,
        case=case.id,
        message=f"the inspection broke off: {' '.join(case.inspection.problem.split())}",
        remedy="the times stand; look at the case by hand, or tell the authors of stepmark",
    )
