"""optimizer-does-nothing: the optimizer's step left the parameters as they were, or was given others.

Evidence. Where an optimizer was declared or one of torch's stepped: none of its parameters has other values
          afterwards although some have a gradient; or none of them has a gradient and none changed; or none
          of them belongs to the step. One that may gather gradients first is watched for 16 steps. In float16
          and bfloat16 an update may be lost in rounding, so that unchanged values are a warning there. Of
          named operations without an optimizer of torch's, one that is called an optimizer and dispatched
          nothing in no time (does_nothing.py), or computed something, wrote nothing and returned nothing: a
          warning, as a kernel may have written unseen.
Why.      A step without an update is not a training step.
"""

from __future__ import annotations

import re

from stepmark.audit.does_nothing import does_nothing
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import OptimizerFacts, PhaseInspection

CALLED_OPTIMIZER = re.compile(r"(?<![a-z])(optimi[sz]er|optim|adamw?|sgd)(?![a-z])", re.IGNORECASE)
COARSE = frozenset({"float16", "bfloat16"})
Numbers = tuple[tuple[str, float], ...]


def optimizer_does_nothing(case: CaseLanes) -> Finding | None:
    """Once per case."""
    if case.inspection is None:
        return None
    optimizer = case.inspection.optimizer
    if optimizer is not None and optimizer.parameters:
        return _step(optimizer, case)
    called = case.phases if case.case.cell.mode is Mode.OPS else ()
    found = (_operation(phase, case) for phase in called if CALLED_OPTIMIZER.search(phase.phase))
    return next((finding for finding in found if finding is not None), None)


def _step(optimizer: OptimizerFacts, case: CaseLanes) -> Finding | None:
    held = counted(optimizer.parameters, "parameter")
    numbers: Numbers = (
        ("parameters", float(optimizer.parameters)),
        ("with_gradient", float(optimizer.with_gradient)),
        ("changed", float(optimizer.changed)),
        ("foreign", float(optimizer.foreign)),
    )
    if optimizer.foreign == optimizer.parameters:
        message = (
            "the only parameter that the optimizer holds does not belong to the step"
            if optimizer.parameters == 1
            else f"none of the {held} that the optimizer holds belongs to the step"
        )
        return _finding(case, message, numbers, remedy="make the optimizer from the step's own parameters")
    if optimizer.changed:
        return None
    if not optimizer.with_gradient:
        message = (
            "the only parameter that the optimizer holds had no gradient and did not change"
            if optimizer.parameters == 1
            else f"none of the {held} that the optimizer holds had a gradient, and none changed"
        )
        return _finding(
            case, message, numbers, remedy="call backward before the optimizer, and clear after it"
        )
    lost = optimizer.steps > 0 and case.case.cell.dtype in COARSE
    message = (
        f"{optimizer.with_gradient} of {held} had a gradient and none changed in "
        f"{counted(optimizer.steps, 'step')}"
    )
    remedy = "look at the learning rate, and whether step is called at all"
    if lost:
        message += f"; in {case.case.cell.dtype} the updates may be lost in rounding"
        remedy = "a larger learning rate, or parameters in float32"
    return _finding(
        case, message, numbers, remedy=remedy, severity=Severity.WARNING if lost else Severity.ERROR
    )


def _operation(phase: PhaseInspection, case: CaseLanes) -> Finding | None:
    numbers: Numbers = (("operations", float(phase.operations)), ("mutated", float(phase.mutated)))
    remedy = "let the operation write the parameters, or return the new ones"
    if does_nothing(phase, case):
        message = f"{phase.phase} dispatched no operation at all"
        return _finding(case, message, numbers, remedy=remedy, severity=Severity.WARNING)
    if phase.operations and not (phase.mutated or phase.returned or phase.unseen):
        message = (
            f"{phase.phase} ran {counted(phase.operations, 'operation')}, wrote nothing, returned nothing"
        )
        return _finding(case, message, numbers, remedy=remedy, severity=Severity.WARNING)
    return None


def _finding(
    case: CaseLanes, message: str, numbers: Numbers, *, remedy: str, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(
        name=FindingName.OPTIMIZER_DOES_NOTHING,
        severity=severity,
        case=case.id,
        message=message,
        remedy=remedy,
        numbers=numbers,
    )
