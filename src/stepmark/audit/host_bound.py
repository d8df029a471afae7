"""host-bound: the accelerator waits for Python, and the number is the cost of launching.

Evidence. Launches timed by device events: in more than half of them the device came by the end of the primary
          phase, or of the parts that are most of it, almost as soon as the host had asked for it
          (stats/queueing.py). Where there are no such launches, one instrumented iteration: the time until
          all of it was enqueued is more than nine tenths of the time until it was done.
Why.      A faster kernel changes nothing here: the verdict is about the number of launches. Larger inputs, a
          captured graph or fewer operations show the device.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import time
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.trial import LaneTrial
from stepmark.stats.blocks import seconds_per_iteration
from stepmark.stats.queueing import waits_for_host

MAX_SHARE = 0.9
REMEDY = "measure larger inputs, or capture the step in a graph (--mode graph), to see the device"


def host_bound(case: CaseLanes) -> Finding | None:
    """Once per case; silent on a CPU."""
    timed = [seen for lane in case.measured if (seen := _primary(lane)) is not None]
    if timed:
        return _from_launches(case, timed)
    inspection = case.inspection
    if inspection is None or inspection.host_seconds is None or inspection.device_seconds is None:
        return None
    host, device = inspection.host_seconds, inspection.device_seconds
    if host <= MAX_SHARE * device:
        return None
    message = f"an iteration takes {time(host)} to enqueue and is done after {time(device)}"
    return _finding(case, message, (("host_seconds", host), ("device_seconds", device)))


def _from_launches(case: CaseLanes, timed: list[tuple[float, float, float]]) -> Finding | None:
    waiting = sum(share > 0.5 for share, _, _ in timed)
    if 2 * waiting <= len(timed):
        return None
    host, device = (float(np.median([each[place] for each in timed])) for place in (1, 2))
    message = (
        f"the device waits for the host, in {waiting} of {len(timed)} launches: it takes {time(host)} to ask "
        f"for what is done after {time(device)}"
    )
    numbers = (("host_seconds", host), ("device_seconds", device), ("launches", float(waiting)))
    return _finding(case, message, numbers)


def _primary(lane: LaneTrial) -> tuple[float, float, float] | None:
    """Of the primary phase: the share of its time that waits for the host, the host's seconds for an
    iteration and the device's; None where a part of it was not timed by events."""
    if lane.layout is None:
        return None
    primary = lane.layout.primary
    parts = next((total.parts for total in lane.layout.totals if total.name == primary), (primary,))
    samples = [sample for sample in lane.samples if sample.phase in parts and sample.host]
    if len(samples) != len(parts):
        return None
    waiting, host, device = 0.0, 0.0, 0.0
    for sample in samples:
        once = float(np.median(seconds_per_iteration(sample.nanoseconds, sample.iterations)))
        host += float(np.median(seconds_per_iteration(sample.host, sample.iterations)))
        device += once
        lags, totals = (seconds_per_iteration(each, 1) for each in (sample.lag, sample.nanoseconds))
        waiting += once if waits_for_host(lags, totals) else 0.0
    return (waiting / device if device > 0.0 else 1.0), host, device


def _finding(case: CaseLanes, message: str, numbers: tuple[tuple[str, float], ...]) -> Finding:
    return Finding(
        name=FindingName.HOST_BOUND,
        severity=Severity.NOTE,
        case=case.id,
        message=message,
        remedy=REMEDY,
        numbers=numbers,
    )
