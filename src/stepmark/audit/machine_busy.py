"""machine-busy: more work wanted to run than the machine has cores.

Evidence. The 1-minute load at the start of each launch against the logical cores. The load of a run in
          progress already contains the run's own threads, so other work competes with it from the point where
          the load exceeds the number of cores, however many threads are used. Half a core is allowed for, as
          the load of an undisturbed run on all cores wavers around their number. In the first minute the run
          is not yet in the load, and the rule is late by that much.
Why.      Interleaved rounds see the same neighbours, so ratios hold, but times and spreads are worse than
          they need be.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity

TOLERANCE = 0.5


def machine_busy(case: CaseLanes) -> Finding | None:
    """Once per case, with the highest load and the number of launches."""
    cores = case.run.environment.host.logical_cores
    loads = [launch.load.load_1m for launch, _ in case.lanes if launch.load is not None]
    busy = [load for load in loads if load is not None and load > cores + TOLERANCE]
    if not busy:
        return None
    return Finding(
        name=FindingName.MACHINE_BUSY,
        severity=Severity.NOTE,
        case=case.id,
        message=(
            f"the load was up to {max(busy):.1f} on {cores} logical cores, "
            f"above their number at the start of {len(busy)} of {len(case.lanes)} launches"
        ),
        remedy="stop other work on the machine, or ask for more launches",
    )
