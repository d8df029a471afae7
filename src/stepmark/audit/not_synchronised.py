"""not-synchronised: work was still going on when the clock stopped.

Evidence. On a CPU, processor time that other threads of the process spent after the last phase of a step, or
          any operation of `Ops`, had returned: at least 1 ms and 5 % of an iteration (outstanding.py). On an
          accelerator, work left on another stream than the current one at the end of the last phase, or of an
          operation, which the clock does not wait for: at least 1 ms, or 5 % of an iteration and 0.1 ms.
          Silent where the operating system does not tell the threads' times.
Why.      The clock measured how long it takes to ask for the work.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.outstanding import is_outstanding, is_stray
from stepmark.audit.quantities import time
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, FindingName, Severity

STREAM = "work was left on another stream than the one the clock waits for"
REMEDY = "wait for the work inside the step: join threads, ask futures for their results, synchronise streams"


def not_synchronised(case: CaseLanes) -> Finding | None:
    """Once per case, for the phase that left most behind."""
    if case.inspection is None:
        return None
    phases = case.phases if case.case.cell.mode is Mode.OPS else case.phases[-1:]
    told = any(phase.stray_seconds for phase in case.phases)
    if case.inspection.foreign_streams and not told:
        return _finding(case, STREAM, ())
    strayed = max((phase.stray_seconds for phase in phases if is_stray(phase, case)), default=0.0)
    if strayed:
        return _finding(case, f"{STREAM}, {time(strayed)} of it or more", (("stray_seconds", strayed),))
    late = [phase for phase in phases if is_outstanding(phase, case)]
    if not late:
        return None
    worst = max(late, key=lambda phase: phase.outstanding_seconds)
    message = (
        f"other threads went on for {time(worst.outstanding_seconds)} of processor time after "
        f"{worst.phase} had returned"
    )
    return _finding(case, message, (("outstanding_seconds", worst.outstanding_seconds),))


def _finding(case: CaseLanes, message: str, numbers: tuple[tuple[str, float], ...]) -> Finding:
    return Finding(
        name=FindingName.NOT_SYNCHRONISED,
        severity=Severity.ERROR,
        case=case.id,
        message=message,
        remedy=REMEDY,
        numbers=numbers,
    )
