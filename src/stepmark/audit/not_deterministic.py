"""not-deterministic: the same inputs gave another output, in a case that says it is deterministic.

Evidence. One more forward pass on the same inputs, asked for by `Expect(deterministic=True)`, compared bit by
          bit.
Why.      Results cannot be reproduced, and a comparison of numbers with a reference may pass by luck.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity


def not_deterministic(case: CaseLanes) -> Finding | None:
    """Once per case."""
    if case.inspection is None or not case.declared.deterministic or case.inspection.repeatable is not False:
        return None
    return Finding(
        name=FindingName.NOT_DETERMINISTIC,
        severity=Severity.WARNING,
        case=case.id,
        message="the same inputs gave another output the second time",
        remedy="look for dropout, random numbers, state, or reductions in no fixed order",
    )
