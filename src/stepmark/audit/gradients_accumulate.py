"""gradients-accumulate: a backward pass added to the gradients of the iteration before.

Evidence. Leaves of the graph that still had a gradient, other than zeros, when the first backward pass of the
          second inspected iteration reached them.
Why.      Adding to a gradient reads and writes it once more than storing a new one, and the numbers that an
          optimizer sees grow from iteration to iteration. Where gradients are meant to accumulate, all
          micro-batches belong into one iteration.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity


def gradients_accumulate(case: CaseLanes) -> Finding | None:
    """Once per case."""
    gradients = case.inspection.gradients if case.inspection else None
    if gradients is None or not gradients.present_before:
        return None
    return Finding(
        name=FindingName.GRADIENTS_ACCUMULATE,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"{gradients.present_before} of {gradients.leaves} gradients were still there from the iteration "
            "before"
        ),
        remedy="clear them in the iteration, or use torch.autograd.grad, which stores none",
        numbers=(
            ("present_before", float(gradients.present_before)),
            ("leaves", float(gradients.leaves)),
        ),
    )
