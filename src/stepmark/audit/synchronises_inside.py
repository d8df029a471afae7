"""synchronises-inside: a step makes the host wait for the accelerator in its course.

Evidence. `PhaseInspection.waits`: the places at which torch waited for the device in an instrumented
          iteration (`.item()`, `.cpu()`, a test of a tensor's value, nonzero), or the step's own code did.
          Waits of libraries that do not go through torch are not seen. Never said on a CPU.
Why.      The device idles while the host finds out what to do next and enqueues it: the time is no longer
          that of the kernels, and the step can be neither captured in a graph nor run ahead.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed
from stepmark.records.finding import Finding, FindingName, Severity


def synchronises_inside(case: CaseLanes) -> Finding | None:
    """Once per case, with every phase that waits and the places."""
    waiting = [phase for phase in case.phases if phase.waits]
    if not waiting:
        return None
    places = list(dict.fromkeys(place for phase in waiting for place in phase.waits))
    names = listed([phase.phase for phase in waiting])
    return Finding(
        name=FindingName.SYNCHRONISES_INSIDE,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{names} makes the host wait for the device, at {listed(places)}",
        remedy="keep values on the device: no .item(), .cpu() or test of a tensor inside the step",
        numbers=(("places", float(len(places))), ("phases", float(len(waiting)))),
    )
