"""parameter-without-gradient: backward passed some trainable parameters by.

Evidence. Some, not all, parameters that require a gradient have none after the backward passes of an
          iteration. Parameters that are frozen do not count.
Why.      Their part of the backward pass and of the update is not in the time. An expert that no token was
          sent to is one case; a layer that was forgotten in forward is another.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, FindingName, Severity


def parameter_without_gradient(case: CaseLanes) -> Finding | None:
    """Once per case, with the first names."""
    gradients = case.inspection.gradients if case.inspection else None
    if gradients is None or case.case.cell.mode is not Mode.TRAIN:
        return None
    missing = len(gradients.without)
    if not 0 < missing < gradients.trainable:
        return None
    return Finding(
        name=FindingName.PARAMETER_WITHOUT_GRADIENT,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"{missing} of {gradients.trainable} trainable parameters got no gradient: "
            f"{listed(gradients.without)}"
        ),
        remedy="use them in forward, or freeze them with requires_grad_(False)",
        numbers=(("without", float(missing)), ("trainable", float(gradients.trainable))),
    )
