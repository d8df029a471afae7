"""profiler-attached, anomaly-mode and debug-build: something looks on, and looking takes time.

Evidence. Read in the solo process while the plain steps ran: tracers and profilers of Python and torch,
          autograd's anomaly mode, and builds or environment variables for debugging.
Why.      A tracer is called for every line or function, a profiler for every operation, anomaly mode checks
          every gradient, and a blocking launch takes the overlap away. What costs per operation costs the
          variant with more operations more, so ratios change too.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed
from stepmark.records.finding import Finding, FindingName, Severity


def profiler_attached(case: CaseLanes) -> Finding | None:
    """Once per case, with the names of the tracers."""
    tracers = case.conditions.tracers
    if not tracers:
        return None
    return _finding(
        FindingName.PROFILER_ATTACHED,
        case,
        f"{listed(tracers)} looked on while the steps ran",
        "measure without it; stepmark profile has a pass of its own",
    )


def anomaly_mode(case: CaseLanes) -> Finding | None:
    """Once per case."""
    if not case.conditions.anomaly:
        return None
    return _finding(
        FindingName.ANOMALY_MODE,
        case,
        "autograd's anomaly mode was on while the steps ran",
        "take torch.autograd.set_detect_anomaly out of what is measured",
    )


def debug_build(case: CaseLanes) -> Finding | None:
    """Once per case, with what makes it one."""
    debug = case.conditions.debug
    if not debug:
        return None
    return _finding(
        FindingName.DEBUG_BUILD,
        case,
        f"measured with {listed(debug)}",
        "unset it, or use an ordinary build, and measure again",
    )


def _finding(name: FindingName, case: CaseLanes, message: str, remedy: str) -> Finding:
    return Finding(name=name, severity=Severity.WARNING, case=case.id, message=message, remedy=remedy)
