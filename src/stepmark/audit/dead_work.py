"""dead-work: what a phase computes does not depend on its inputs, or nothing uses it.

Evidence. More than a quarter of a phase's counted work went into results that reach neither the phase's
          result nor anything that outlives it: a warning, silent for phases in which kernels wrote memory
          unseen. The output does not depend on the inputs, confirmed by a forward pass with other values: an
          error where matrix work is done all the same or no operation at all (a remembered output); a warning
          else (a table of positions).
Why.      A compiler may remove dead work and eager mode may not; and a layer that does not look at its inputs
          is not the layer.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import work
from stepmark.records.finding import Finding, FindingName, Severity

MAX_SHARE = 0.25


def dead_work(case: CaseLanes) -> Finding | None:
    """Once per case: an output that depends on nothing first."""
    if case.inspection is None:
        return None
    if case.inspection.depends is False:
        return _independent(case)
    dead = [p for p in case.phases if not p.unseen and p.dead_flops > MAX_SHARE * p.flops]
    if not dead:
        return None
    worst = max(dead, key=lambda phase: phase.dead_flops)
    return Finding(
        name=FindingName.DEAD_WORK,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{work(worst.dead_flops)} of {work(worst.flops)} in {worst.phase} are used by nothing",
        remedy="return or use the result, or take the computation out",
        numbers=(("dead_flops", worst.dead_flops), ("flops", worst.flops)),
    )


def _independent(case: CaseLanes) -> Finding:
    flops = sum(phase.flops for phase in case.phases)
    idle = not any(phase.operations or phase.unseen for phase in case.phases)
    message = "other inputs give the same output"
    if flops or idle:
        message += ", and nothing is computed" if idle else f", although an iteration does {work(flops)}"
    return Finding(
        name=FindingName.DEAD_WORK,
        severity=Severity.ERROR if flops or idle else Severity.WARNING,
        case=case.id,
        message=message,
        remedy="see that the layer uses the inputs that it is given",
        numbers=(("flops", flops),),
    )
