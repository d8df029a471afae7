"""degenerate-data: tensors are all zero, constant, denormal, NaN or infinite.

Evidence. The values of inputs, weights, output and gradients after an instrumented iteration. NaN anywhere is
          an error, and so are weights that an optimizer led to NaN or infinity in the course of a launch,
          seen when the lane was built anew or ended. Infinite outputs and gradients, inputs that are zero or
          constant, and on a CPU one denormal number in a hundred or more are warnings. Weights of two and
          more dimensions that are zero, and zero gradients, are notes: a LoRA layer starts like that.
          Infinite inputs are left alone: masks have them.
Why.      Zeros skip work in sparse and quantised kernels, constants hit the same table entry, denormal
          numbers are up to a hundred times slower on some processors, and nobody can see in NaN whether the
          layer is right. GPUs compute with denormal numbers at full speed (Whitehead & Fit-Florea, "Precision
          & Performance: Floating Point and IEEE 754 Compliance for NVIDIA GPUs", 2011).
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted, listed
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import Degenerate, ValueKind

DENORMAL_SHARE = 0.01
COMPUTED = frozenset({ValueKind.OUTPUT, ValueKind.GRADIENT})
Doubt = tuple[Severity, str]


def degenerate_data(case: CaseLanes) -> Finding | None:
    """Once per case: the gravest kind, with the first tensors."""
    tensors = case.inspection.degenerate if case.inspection else ()
    on_cpu = case.case.cell.device == "cpu"
    doubts = [(*doubt, tensor) for tensor in tensors if (doubt := _doubt(tensor, on_cpu=on_cpu)) is not None]
    grave = list(Severity)
    severity = max((severity for severity, *_ in doubts), key=grave.index, default=Severity.NOTE)
    if severity is not Severity.ERROR and (ran_away := _ran_away(case)) is not None:
        return ran_away
    if not doubts:
        return None
    named = [f"{_name(tensor)} {text}" for own, text, tensor in doubts if own is severity]
    return Finding(
        name=FindingName.DEGENERATE_DATA,
        severity=severity,
        case=case.id,
        message=listed(named),
        remedy="use random inputs and ordinary weights; look for overflow where numbers are not finite",
        numbers=(
            ("tensors", float(len(named))),
            ("nan", float(sum(tensor.nan for *_, tensor in doubts))),
            ("infinite", float(sum(tensor.infinite for *_, tensor in doubts))),
        ),
    )


def _ran_away(case: CaseLanes) -> Finding | None:
    """Of launches: what the solo pass, some dozens of steps long, could not see yet."""
    looked_at = [lane for _, lane in case.lanes if lane.rounds]
    spoiled = [lane.watch for lane in looked_at if lane.watch.not_finite]
    if not spoiled:
        return None
    first = min(watch.first_not_finite or 0 for watch in spoiled)
    launches, rounds = counted(len(looked_at), "launch", "es"), counted(first, "round")
    weights = listed([f"weight {name}" for name in spoiled[0].not_finite])
    return Finding(
        name=FindingName.DEGENERATE_DATA,
        severity=Severity.ERROR,
        case=case.id,
        message=f"not finite in {len(spoiled)} of {launches}, seen after {rounds} at the earliest: {weights}",
        remedy="training runs away while it is timed: lower the learning rate, or clip gradients",
        numbers=(("launches", float(len(spoiled))), ("rounds", float(first))),
    )


def _doubt(tensor: Degenerate, *, on_cpu: bool) -> Doubt | None:
    if tensor.nan:
        return Severity.ERROR, f"has {tensor.nan} NaN in {tensor.elements}"
    if tensor.infinite and tensor.kind in COMPUTED:
        return Severity.WARNING, f"has {tensor.infinite} infinite numbers in {tensor.elements}"
    if on_cpu and tensor.denormal and tensor.denormal >= DENORMAL_SHARE * tensor.elements:
        return Severity.WARNING, f"has {tensor.denormal} denormal numbers in {tensor.elements}"
    if tensor.kind is ValueKind.INPUT and tensor.elements > 1 and (tensor.zero or tensor.constant):
        return Severity.WARNING, "is zero everywhere" if tensor.zero else "is the same everywhere"
    if tensor.zero and (tensor.kind is ValueKind.GRADIENT or _is_matrix(tensor)):
        return Severity.NOTE, "is zero everywhere"
    return None


def _is_matrix(tensor: Degenerate) -> bool:
    return tensor.kind is ValueKind.WEIGHT and tensor.dimensions >= 2


def _name(tensor: Degenerate) -> str:
    """`input 0` names its kind itself; `weight` of a gradient does not."""
    return tensor.name if tensor.name.startswith(tensor.kind.value) else f"{tensor.kind.value} {tensor.name}"
