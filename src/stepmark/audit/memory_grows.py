"""memory-grows: the case keeps memory from iteration to iteration.

Evidence. Either of two.
          Inspection: both inspected iterations left tensors behind, 1 KiB or more each and of similar size
          (within a factor of 2), and the first one's were still alive after the second.
          Launches: in more than half of them the memory in use rose from reading to reading, each after one
          of the lane's blocks, by 1 MiB or more in all and by at least an eighth of that in each quarter of
          the readings; and of the lanes in the process, its own blocks added the most, or half of that. An
          allocator that fills its pools grows at first and then stays.
Why.      Steps of a training run do not keep what earlier ones made. Allocation gets slower as memory fills,
          so the time depends on how long one measures, and a peak belongs to the number of iterations.
"""

from __future__ import annotations

import numpy as np

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import size
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.trial import LaneTrial, LaunchTrial
from stepmark.stats.blocks import integers

MIN_KEPT = 1024
SIMILAR = 2.0
MIN_GROWTH = 1 << 20
MIN_READINGS = 6
MIN_ADDED = 4096
"""One page."""
QUARTERS = 4
MIN_QUARTER = 1 / 8
"""Of the whole growth: half of what each quarter has if it is the same in all."""


def memory_grows(case: CaseLanes) -> Finding | None:
    """Once per case; what the inspection saw comes first, it is exact."""
    return _kept(case) or _grown(case)


def _kept(case: CaseLanes) -> Finding | None:
    inspection = case.inspection
    if inspection is None:
        return None
    kept, before = inspection.memory.kept, inspection.memory.kept_before
    if min(kept, before) < MIN_KEPT or max(kept, before) > SIMILAR * min(kept, before):
        return None
    return Finding(
        name=FindingName.MEMORY_GROWS,
        severity=Severity.WARNING,
        case=case.id,
        message=f"every iteration leaves tensors of about {size(kept)} behind, and nothing frees them",
        remedy="drop what an iteration made before the next one: losses with their graphs, outputs, hooks",
        numbers=(("bytes_per_iteration", float(kept)),),
    )


def _grown(case: CaseLanes) -> Finding | None:
    watched = [growth for launch, lane in case.lanes if (growth := _growth(launch, lane)) is not None]
    grown = [growth for growth in watched if growth > 0]
    if not grown or 2 * len(grown) <= len(watched):
        return None
    typical = float(np.median(grown))
    return Finding(
        name=FindingName.MEMORY_GROWS,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"memory grew by {size(typical)} in the course of a launch, steadily, in {len(grown)} of "
            f"{len(watched)} launches"
        ),
        remedy="look for lists, caches or hooks that keep what an iteration made",
        numbers=(("bytes_per_launch", typical), ("launches", float(len(grown)))),
    )


def _growth(launch: LaunchTrial, lane: LaneTrial) -> int | None:
    """Bytes by which the lane made its process grow, if it went on growing, else 0; None of too few
    readings."""
    readings = integers(lane.watch.live_bytes)
    if readings.size < MIN_READINGS:
        return None
    edges = np.linspace(0, readings.size - 1, QUARTERS + 1).round().astype(int)
    quarters = np.diff(readings[edges])
    growth = int(quarters.sum())
    steady = growth >= MIN_GROWTH and bool((quarters >= MIN_QUARTER * growth).all())
    return growth if steady and _is_to_blame(launch, lane) else 0


def _is_to_blame(launch: LaunchTrial, lane: LaneTrial) -> bool:
    """Whether the lane's own blocks add the most of all lanes in its process, or half of that."""
    added = [_added(other) for other in launch.lanes if other.process == lane.process]
    return len(added) == 1 or 2 * _added(lane) >= max(MIN_ADDED, *added)


def _added(lane: LaneTrial) -> int:
    own = integers(lane.watch.own_bytes)
    return int(own[-1]) if own.size else 0
