"""gradient-not-applied: gradients reach weights that nothing updates.

Evidence. In a step in which an optimizer of torch's steps: parameters into which its passes accumulate a
          gradient, that no living optimizer holds, and that had the same values after one more iteration.
          Nothing is said where some optimizer is not torch's, or holds copies of the weights.
Why.      They are trained nowhere but in the backward pass: the update is shorter than that of a layer whose
          weights all learn. Layers in a plain list are no part of their module, and its `parameters()`
          does not know them.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted, listed
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, FindingName, Severity


def gradient_not_applied(case: CaseLanes) -> Finding | None:
    """Once per case, with the first names."""
    optimizer = case.inspection.optimizer if case.inspection else None
    if optimizer is None or not optimizer.passed_by or case.case.cell.mode is not Mode.TRAIN:
        return None
    number = len(optimizer.passed_by)
    subject = "1 weight gets a gradient" if number == 1 else f"{number} weights get gradients"
    return Finding(
        name=FindingName.GRADIENT_NOT_APPLIED,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"{subject} and no update, beside {counted(optimizer.parameters, 'parameter')} that the "
            f"optimizer holds: {listed(optimizer.passed_by)}"
        ),
        remedy="give them to the optimizer (layers of a module belong in a ModuleList, not a list), or "
        "freeze them with requires_grad_(False)",
        numbers=(("passed_by", float(number)), ("held", float(optimizer.parameters))),
    )
