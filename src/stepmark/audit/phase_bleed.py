"""phase-bleed: work of one phase fell into another phase's clock.

Evidence. Processor time that other threads spent after a phase of a step, not its last, had returned
          (outstanding.py). On an accelerator, work that such a phase left on another stream, where the last
          phase leaves none. Or a phase with `backward` in its name in which the autograd engine ran and
          forward work too, outside of it: more than a tenth of the phase's counted work, or, where nothing
          outside has counted work, more than two operations that are a tenth of all. What a checkpoint
          computes again runs inside the engine and is backward work. A backward pass written by hand, without
          the engine, cannot be told from forward work: silent.
          A warning, because the whole step may be right: one that moves activations away while it goes on,
          and waits for that in its backward pass, has nothing to mend.
Why.      The sum is right and every part is wrong: the loss, or half a forward pass, is reported as backward.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.outstanding import is_outstanding, is_stray
from stepmark.audit.quantities import counted, time, work
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import PhaseInspection

MAX_SHARE = 0.1
SAID_TO_BE_IN_IT = ("forward", "fwd", "loss", "step")
FEW = 2
"""Operations: a sum to start from, and the gradient of that sum, are not worth a word."""


def phase_bleed(case: CaseLanes) -> Finding | None:
    """Once per case: what ran on first, then forward work in a backward phase."""
    if case.case.cell.mode is not Mode.OPS:
        late = [phase for phase in case.phases[:-1] if is_outstanding(phase, case)]
        if late:
            return _still_running(case, max(late, key=lambda phase: phase.outstanding_seconds))
        stray = [phase for phase in case.phases[:-1] if is_stray(phase, case)]
        if stray and not is_stray(case.phases[-1], case):
            return _on_another_stream(case, max(stray, key=lambda phase: phase.stray_seconds))
    mixed = [phase for phase in case.phases if _claims_backward(phase.phase) and _has_forward_work(phase)]
    return _forward_work(case, mixed[0]) if mixed else None


def _claims_backward(name: str) -> bool:
    """And nothing else: `forward and backward` says what is in it."""
    name = name.lower()
    return "backward" in name and not any(more in name for more in SAID_TO_BE_IN_IT)


def _has_forward_work(phase: PhaseInspection) -> bool:
    if not phase.backward_operations:
        return False
    if phase.forward_flops:
        return phase.forward_flops > MAX_SHARE * phase.flops
    return phase.forward_operations > max(FEW, MAX_SHARE * phase.operations)


def _still_running(case: CaseLanes, phase: PhaseInspection) -> Finding:
    return Finding(
        name=FindingName.PHASE_BLEED,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"other threads went on for {time(phase.outstanding_seconds)} of processor time after "
            f"{phase.phase} had returned, in the clock of the next phase"
        ),
        remedy="wait for the work in the phase that asks for it",
        numbers=(("outstanding_seconds", phase.outstanding_seconds),),
    )


def _on_another_stream(case: CaseLanes, phase: PhaseInspection) -> Finding:
    return Finding(
        name=FindingName.PHASE_BLEED,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"another stream went on for {time(phase.stray_seconds)} or more after {phase.phase} was done on "
            "its own, in the clock of the next phase"
        ),
        remedy="have the stream wait for the other one in the phase that asks for the work",
        numbers=(("stray_seconds", phase.stray_seconds),),
    )


def _forward_work(case: CaseLanes, phase: PhaseInspection) -> Finding:
    if phase.forward_flops:
        seen = f"{work(phase.forward_flops)} of {work(phase.flops)} in {phase.phase} are forward work"
    else:
        operations = counted(phase.forward_operations, "operation")
        seen = f"{operations} of {phase.operations} in {phase.phase} are forward work"
    return Finding(
        name=FindingName.PHASE_BLEED,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{seen}, outside the autograd engine",
        remedy="move forward pass and loss into operations of their own, or call the phase what it is",
        numbers=(
            ("forward_operations", float(phase.forward_operations)),
            ("operations", float(phase.operations)),
            ("forward_flops", phase.forward_flops),
            ("flops", phase.flops),
        ),
    )
