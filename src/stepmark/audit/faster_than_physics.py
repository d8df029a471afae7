"""faster-than-physics: the counted work cannot have been done in the measured time on this machine.

Evidence. Work by dtype from the inspection (matrix products, convolutions, attention; of a causal attention
          the half that no kernel can leave out) at the matrix rates that this machine reached when nothing
          else was asked of it, one dtype after the other, gives the least time. An error where a phase, or
          the primary time, took less than half of that: a core whose sibling was busy when its ceiling was
          measured ran at half its rate. On an accelerator, and with a relaxed `float32_matmul_precision`,
          float32 may run as fast as the fastest 16-bit type; narrow types may be widened to float32. Where a
          phase has no such work, the bytes its operations move at the rate of the fastest copy give the least
          time, and the finding is a warning: an operation need not read all that it is given.
          Silent where the step is compiled (the count is of another program), where something wrote memory
          behind torch's back, and where no ceiling was measured.
Why.      What was timed is not what was counted: the clock stopped before the work was done, the work was
          skipped, or a result was kept from an earlier call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import time
from stepmark.audit.rates import phase_seconds, typical_seconds
from stepmark.records.ceilings import Ceilings
from stepmark.records.evidence import Evidence
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import spanned_by_primary
from stepmark.records.limit import computing_seconds, highest_rate, is_relaxed

LIMIT = 2.0


@dataclass(frozen=True)
class _Claim:
    what: str
    seconds: float
    severity: Severity
    least: float
    """Seconds that the work takes at the ceilings."""

    @property
    def excess(self) -> float:
        return self.least / self.seconds


def faster_than_physics(case: CaseLanes) -> Finding | None:
    """Once per case, for the primary time or the phase that is furthest beyond, errors first."""
    evidence, ceilings = case.evidence, case.run.ceilings
    if evidence is None or ceilings is None or ceilings.device != case.case.cell.device:
        return None
    claims = [claim for claim in _claims(case, evidence, ceilings) if claim.excess > LIMIT]
    if not claims:
        return None
    worst = max(claims, key=lambda claim: (claim.severity is Severity.ERROR, claim.excess))
    counted = "work counted" if worst.severity is Severity.ERROR else "memory its operations are given"
    return Finding(
        name=FindingName.FASTER_THAN_PHYSICS,
        severity=worst.severity,
        case=case.id,
        message=(
            f"{worst.what} takes {time(worst.seconds)}, but the {counted} in it takes "
            f"{time(worst.least)} at the best rates of this machine, {worst.excess:.3g} times as long"
        ),
        remedy="see that all of it is done anew before the phase returns: no cache, no other thread",
        numbers=(
            ("seconds", worst.seconds),
            ("least_seconds", worst.least),
            ("excess", worst.excess),
        ),
    )


def _claims(case: CaseLanes, evidence: Evidence, ceilings: Ceilings) -> Iterable[_Claim]:
    inspection = evidence.inspection
    if inspection is None or inspection.eager or any(phase.unseen for phase in inspection.phases):
        return
    device = case.case.cell.device
    relaxed = device != "cpu" or is_relaxed(evidence.conditions.flags, device)
    rate = highest_rate(ceilings, relaxed=relaxed)
    computing = {phase.phase: computing_seconds(phase, rate) for phase in inspection.phases}
    seconds = typical_seconds(case)
    if seconds is not None:
        whole = spanned_by_primary(inspection, evidence.layout)
        least = sum(computing[phase.phase] for phase in whole)
        yield _Claim(what=evidence.layout.primary, seconds=seconds, severity=Severity.ERROR, least=least)
    for phase in inspection.phases:
        spent, least = phase_seconds(case, phase.phase), computing[phase.phase]
        if spent is not None and phase.flops:
            yield _Claim(what=phase.phase, seconds=spent, severity=Severity.ERROR, least=least)
        elif spent is not None and ceilings.copy_cache:
            moving = phase.traffic / ceilings.copy_cache
            yield _Claim(what=phase.phase, seconds=spent, severity=Severity.WARNING, least=moving)
