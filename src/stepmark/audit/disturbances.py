"""Disturbances: what others took of the machine while a launch ran, as far as its counters tell.

Load.      The 1-minute load at the launch's start exceeds the logical cores by more than half a core. The
           load of a run in progress contains the run's own threads, so other work competes with it from there
           on; in the first minute it is late by that much.
Others.    Processes that are not the run's own used half a core or more, from the kernel's counters.
Stolen.    The hypervisor gave 2 % of the processor's time or more to other machines.
Card.      More processes computed on the accelerator than the launch itself had, at its beginning or end.
"""

from __future__ import annotations

from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchTrial

LOAD_TOLERANCE = 0.5
MIN_OTHERS = 0.5
"""Cores."""
MIN_STOLEN = 0.02
KINDS = ("load", "others", "stolen", "card")


def disturbances(launch: LaunchTrial, cores: int) -> dict[str, float]:
    """What is above its limit, by kind of KINDS, on a machine of so many logical cores."""
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
