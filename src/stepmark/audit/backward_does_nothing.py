"""backward-does-nothing: backward produced no gradient for anything trainable.

Evidence. An error: in training, every parameter that requires a gradient has none, or one that is zero
          everywhere, after the backward passes of an iteration. Gradients that an optimizer used and cleared
          during the backward pass are not missing: silent where parameters without a gradient changed all the
          same. A warning: a named operation with `backward` in its name dispatched nothing and took no time,
          which a very short kernel that nobody sees does too (does_nothing.py).
Why.      The graph is cut somewhere: a custom function returns nothing, the output is detached, the loss is
          of something else. A backward pass without work is very fast.
"""

from __future__ import annotations

from stepmark.audit.does_nothing import does_nothing
from stepmark.audit.lanes import CaseLanes
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import Inspection


def backward_does_nothing(case: CaseLanes) -> Finding | None:
    """Once per case."""
    if case.inspection is None:
        return None
    if case.case.cell.mode is Mode.OPS:
        return _empty_operation(case)
    return _no_gradients(case, case.inspection) if case.case.cell.mode is Mode.TRAIN else None


def _no_gradients(case: CaseLanes, inspection: Inspection) -> Finding | None:
    gradients, optimizer = inspection.gradients, inspection.optimizer
    if gradients is None or not gradients.trainable:
        return None
    missing, zero = len(gradients.without), len(set(gradients.zero) - set(gradients.without))
    used_up = not zero and optimizer is not None and optimizer.changed > 0
    if missing + zero < gradients.trainable or used_up:
        return None
    return _finding(
        case,
        _told(gradients.trainable, missing=missing, zero=zero),
        (("trainable", float(gradients.trainable)), ("without", float(missing)), ("zero", float(zero))),
        remedy="look for detach, no_grad, or a custom backward that returns nothing or zeros",
    )


def _told(trainable: int, *, missing: int, zero: int) -> str:
    if trainable == 1:
        return f"the only trainable parameter got {'no gradient' if missing else 'a gradient of zeros'}"
    if not missing:
        return f"all {trainable} trainable parameters got gradients of zeros"
    if not zero:
        return f"none of {trainable} trainable parameters got a gradient"
    return f"of {trainable} trainable parameters {missing} got no gradient and {zero} a gradient of zeros"


def _empty_operation(case: CaseLanes) -> Finding | None:
    empty = [p.phase for p in case.phases if "backward" in p.phase.lower() and does_nothing(p, case)]
    if not empty:
        return None
    message = f"{empty[0]} dispatched no operation at all"
    return _finding(
        case,
        message,
        (("operations", 0.0),),
        remedy="see that it calls what its name says",
        severity=Severity.WARNING,
    )


def _finding(
    case: CaseLanes,
    message: str,
    numbers: tuple[tuple[str, float], ...],
    *,
    remedy: str,
    severity: Severity = Severity.ERROR,
) -> Finding:
    return Finding(
        name=FindingName.BACKWARD_DOES_NOTHING,
        severity=severity,
        case=case.id,
        message=message,
        remedy=remedy,
        numbers=numbers,
    )
