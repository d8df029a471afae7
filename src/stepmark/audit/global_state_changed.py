"""global-state-changed: a lane's block left a global setting different from how it found it.

Evidence. `LaneTrial.flag_changes`: precision, determinism and thread settings read before and after blocks.
Why.      Lanes share a process, so the change also speeds up or slows down the neighbours, the baseline
          among them.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity

MAX_NAMED = 3
"""Settings spelled out in the message; more are counted."""


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
    named = ", ".join(kinds[:MAX_NAMED])
    more = f" and {len(kinds) - MAX_NAMED} more" if len(kinds) > MAX_NAMED else ""
    return Finding(
        name=FindingName.GLOBAL_STATE_CHANGED,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"changed {named}{more} in {len(changed)} of {len(case.lanes)} launches, "
            f"first in round {changed[0][0].round}"
        ),
        remedy="restore the setting inside the step, or measure with --isolation separate",
    )
