"""noisy-neighbour: others used the machine while the case was timed.

Evidence. In more than a tenth of the launches, a disturbance of any kind (disturbances.py): the load at the
          start, other processes, the hypervisor, others on the card.
Why.      Interleaved rounds see the same neighbours, so ratios hold, but times and spreads are worse than
          they need be.
"""

from __future__ import annotations

from stepmark.audit.disturbances import KINDS, disturbances
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted, percent
from stepmark.records.finding import Finding, FindingName, Severity

MIN_SHARE = 0.1
"""Of the launches: every machine has its own business now and then."""


def noisy_neighbour(case: CaseLanes) -> Finding | None:
    """Once per case, with the most of each kind and the number of launches."""
    cores = case.run.environment.host.logical_cores
    disturbed = [seen for launch, _ in case.lanes if (seen := disturbances(launch, cores))]
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
