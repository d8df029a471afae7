"""not-the-declared-work: the step is not what the case says it is.

Evidence. Parameters, shape, rows (tokens) and dtype of the output against what `Expect` claims. Counted work
          below nine tenths of the claim, unless some of it may not have been counted: kernels that the
          dispatcher does not see, operators without a formula, a step with no counted work at all. A case
          measured as `forward` that changes parameters with an optimizer, whose parameters got gradients from
          a backward pass, or whose module is in training mode although it was put into evaluation mode.
          Warnings, because they may be meant: a plain callable in forward mode that runs a backward pass, or
          modules in training mode.
Why.      A time belongs to a size. With truncated operands, swapped dimensions or a mode that does something
          else, it is the time of another benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stepmark.audit.counted_work import counted_flops, counts_all
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import work
from stepmark.records.case import Mode
from stepmark.records.evidence import Evidence
from stepmark.records.finding import Finding, FindingName, Severity

LEAST_SHARE = 0.9
Numbers = tuple[tuple[str, float], ...]
Difference = tuple[Severity, str, Numbers]


def not_the_declared_work(case: CaseLanes) -> Finding | None:
    """Once per case, with everything that differs."""
    if case.evidence is None:
        return None
    differences = [*_claims(case.evidence), *_too_little(case), *_mode(case)]
    if not differences:
        return None
    severities = {severity for severity, *_ in differences}
    return Finding(
        name=FindingName.NOT_THE_DECLARED_WORK,
        severity=Severity.ERROR if Severity.ERROR in severities else Severity.WARNING,
        case=case.id,
        message="; ".join(text for _, text, _ in differences),
        remedy="mend the step, or the claim that it makes",
        numbers=tuple(number for *_, numbers in differences for number in numbers),
    )


def _claims(evidence: Evidence) -> Iterator[Difference]:
    declared, output = evidence.declared, evidence.output
    if declared.parameters not in {None, evidence.parameters}:
        numbers: Numbers = (("parameters", float(evidence.parameters)),)
        yield Severity.ERROR, f"{evidence.parameters} parameters instead of {declared.parameters}", numbers
    if output is None:
        return
    if declared.output not in {None, output.shape}:
        shapes = [list(shape) for shape in (output.shape, declared.output or ())]
        yield Severity.ERROR, f"an output of shape {shapes[0]} instead of {shapes[1]}", ()
    rows = math.prod(output.shape[:-1])
    if declared.tokens not in {None, rows}:
        text = f"an output of {rows} rows instead of {declared.tokens} tokens"
        yield Severity.ERROR, text, (("tokens", float(rows)),)
    if declared.dtype not in {None, output.dtype}:
        yield Severity.ERROR, f"an output in {output.dtype} instead of {declared.dtype}", ()


def _too_little(case: CaseLanes) -> Iterator[Difference]:
    counted, claimed = counted_flops(case), case.declared.flops
    if counted is None or claimed is None or not counts_all(case) or counted >= LEAST_SHARE * claimed:
        return
    text = f"{work(counted)} of work in an iteration instead of {work(claimed)}"
    yield Severity.ERROR, text, (("flops", counted), ("declared_flops", claimed))


def _mode(case: CaseLanes) -> Iterator[Difference]:
    inspection, evidence = case.inspection, case.evidence
    if inspection is None or evidence is None or case.case.cell.mode is not Mode.FORWARD:
        return
    known = Severity.ERROR if evidence.parameters else Severity.WARNING
    if inspection.training:
        yield known, "measured as forward, with a module in training mode", ()
    gradients, optimizer = inspection.gradients, inspection.optimizer
    if optimizer is not None and optimizer.changed:
        text = "measured as forward, with an optimizer that changes parameters"
        yield Severity.ERROR, text, (("changed_parameters", float(optimizer.changed)),)
    if gradients is None or not gradients.passes:
        return
    passes: Numbers = (("backward_passes", float(gradients.passes)),)
    if gradients.trainable > len(gradients.without):
        yield Severity.ERROR, "measured as forward, with a backward pass to the parameters", passes
    elif not gradients.trainable:
        yield Severity.WARNING, "measured as forward, with a backward pass", passes
