"""more-work-than-needed: an iteration computes far more than the useful work that the step declares.

Evidence. Counted work of an instrumented iteration above 1.5 times what `Expect(flops=...)` claims.
Why.      Work that is done again and again, like a kernel that recomputes a product for every output, makes a
          layer slow for a reason that has nothing to do with its idea; and as a baseline it is easy to beat.
"""

from __future__ import annotations

from stepmark.audit.counted_work import counted_flops
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import work
from stepmark.records.finding import Finding, FindingName, Severity

MAX_RATIO = 1.5


def more_work_than_needed(case: CaseLanes) -> Finding | None:
    """Once per case."""
    counted, useful = counted_flops(case), case.declared.flops
    if counted is None or useful is None or counted <= MAX_RATIO * useful:
        return None
    times = f", {counted / useful:.1f} times as much" if useful else ""
    return Finding(
        name=FindingName.MORE_WORK_THAN_NEEDED,
        severity=Severity.WARNING,
        case=case.id,
        message=f"an iteration does {work(counted)} where {work(useful)} are useful{times}",
        remedy="look for products that are computed more than once, or declare the work as it is",
        numbers=(("flops", counted), ("declared_flops", useful)),
    )
