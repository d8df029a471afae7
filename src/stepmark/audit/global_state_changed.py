"""changes-its-neighbours, the settings: a lane's block left a global setting different from how it found it.

Evidence. `LaneTrial.flag_changes`: precision, determinism and thread settings read before and after blocks.
Why.      Lanes share a process. The setting is put back before the next lane's turn, so the neighbours are
          safe, but the lane itself is measured half with the setting and half without it.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed
from stepmark.records.finding import Finding, FindingName, Severity


def global_state_changed(case: CaseLanes) -> Finding | None:
    """Once per case, with the settings and the number of launches."""
    changed = [lane.flag_changes for _, lane in case.lanes if lane.flag_changes]
    if not changed:
        return None
    kinds = list(
        dict.fromkeys(
            f"{one.name} from {one.before} to {one.after}" for changes in changed for one in changes
        )
    )
    return Finding(
        name=FindingName.CHANGES_ITS_NEIGHBOURS,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"changed {listed(kinds)} in {len(changed)} of {len(case.lanes)} launches, "
            f"first {_when(changed[0][0].round)}; it was put back each time"
        ),
        remedy="set it at the top of the bench file, for all variants, or measure with --isolation separate",
        numbers=(("launches", float(len(changed))), ("settings", float(len(kinds)))),
    )


def _when(number: int | None) -> str:
    return "before the rounds" if number is None else f"in round {number}"
