"""noisy-neighbour: others used the machine while the case was timed.

Evidence. In more than a tenth of the launches, any of four.
          Load: the 1-minute load at the launch's start exceeds the logical cores by more than half a core.
          The load of a run in progress contains the run's own threads, so other work competes with it from
          there on; in the first minute the rule is late by that much.
          Others: processes that are not the run's own used half a core or more, from the kernel's counters.
          Stolen: the hypervisor gave 2 % of the processor's time or more to other machines.
          Card: more processes computed on the accelerator than the launch itself had, at its beginning or
          end.
Why.      Interleaved rounds see the same neighbours, so ratios hold, but times and spreads are worse than
          they need be.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted, percent
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchTrial

LOAD_TOLERANCE = 0.5
MIN_OTHERS = 0.5
"""Cores."""
MIN_STOLEN = 0.02
KINDS = ("load", "others", "stolen", "card")
MIN_SHARE = 0.1
"""Of the launches: every machine has its own business now and then."""


def noisy_neighbour(case: CaseLanes) -> Finding | None:
    """Once per case, with the most of each kind and the number of launches."""
    cores = case.run.environment.host.logical_cores
    disturbed = [seen for launch, _ in case.lanes if (seen := _disturbances(launch, cores))]
    if len(disturbed) <= MIN_SHARE * len(case.lanes):
        return None
    most = {kind: max(seen.get(kind, 0.0) for seen in disturbed) for kind in KINDS}
    said = [f"the load was up to {most['load']:.1f} on {cores} logical cores"] if most["load"] else []
    said += [f"other processes used up to {most['others']:.1f} cores"] if most["others"] else []
    said += [f"the hypervisor took up to {percent(most['stolen'])}"] if most["stolen"] else []
    said += (
        [f"{counted(int(most['card']), 'other process', 'es')} computed on the card"] if most["card"] else []
    )
    return Finding(
        name=FindingName.NOISY_NEIGHBOUR,
        severity=Severity.NOTE,
        case=case.id,
        message=f"{', '.join(said)}; in {len(disturbed)} of {len(case.lanes)} launches",
        remedy="stop other work on the machine, or ask for more launches; `stepmark doctor` names processes",
        numbers=(
            *((kind, value) for kind, value in most.items() if value or kind != "card"),
            ("launches", float(len(disturbed))),
        ),
    )


def _disturbances(launch: LaunchTrial, cores: int) -> dict[str, float]:
    """What is above its limit, by kind of KINDS."""
    load = launch.load.load_1m if launch.load is not None else None
    activity = launch.activity
    others, stolen = (activity.others, activity.stolen) if activity is not None else (None, None)
    seen = {}
    if load is not None and load > cores + LOAD_TOLERANCE:
        seen["load"] = load
    if others is not None and others >= MIN_OTHERS:
        seen["others"] = others
    if stolen is not None and stolen >= MIN_STOLEN:
        seen["stolen"] = stolen
    if (on_card := _others_on_card(launch)) > 0:
        seen["card"] = float(on_card)
    return seen


def _others_on_card(launch: LaunchTrial) -> int:
    """Processes beyond the launch's own: one, or in separate isolation one for each lane."""
    readings = launch.activity.card if launch.activity is not None else None
    own = len(launch.lanes) if launch.isolation is Isolation.SEPARATE else 1
    return max((reading.processes or 0) - own for reading in readings) if readings else 0
