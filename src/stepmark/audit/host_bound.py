"""host-bound: the accelerator waits for Python, and the number is the cost of launching.

Evidence. One instrumented iteration on an accelerator: the time until all of it was enqueued is more than
          nine tenths of the time until it was done.
Why.      A faster kernel changes nothing here: the verdict is about the number of launches. Larger inputs, a
          captured graph or fewer operations show the device.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import time
from stepmark.records.finding import Finding, FindingName, Severity

MAX_SHARE = 0.9


def host_bound(case: CaseLanes) -> Finding | None:
    """Once per case; silent on a CPU."""
    inspection = case.inspection
    if inspection is None or inspection.host_seconds is None or inspection.device_seconds is None:
        return None
    host, device = inspection.host_seconds, inspection.device_seconds
    if host <= MAX_SHARE * device:
        return None
    return Finding(
        name=FindingName.HOST_BOUND,
        severity=Severity.NOTE,
        case=case.id,
        message=f"an iteration takes {time(host)} to enqueue and is done after {time(device)}",
        remedy="measure larger inputs, or capture the step in a graph, to see the device",
        numbers=(("host_seconds", host), ("device_seconds", device)),
    )
