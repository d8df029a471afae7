"""The list of rules, and the audit that asks each of them about each case.

A rule is a pure function from one case to a finding or nothing: at most one finding per case and rule.
"""

from __future__ import annotations

from collections.abc import Callable

from stepmark.audit.changes_its_neighbours import changes_its_neighbours
from stepmark.audit.clock_dominates import clock_dominates
from stepmark.audit.few_launches import few_launches
from stepmark.audit.global_state_changed import global_state_changed
from stepmark.audit.lane_failed_in_company import lane_failed_in_company
from stepmark.audit.lanes import CaseLanes, each_case
from stepmark.audit.machine_busy import machine_busy
from stepmark.audit.never_settled import never_settled
from stepmark.audit.warm_up_unfinished import warm_up_unfinished
from stepmark.records.finding import Finding
from stepmark.records.run import Recording

Rule = Callable[[CaseLanes], Finding | None]

RULES: tuple[Rule, ...] = (
    lane_failed_in_company,
    changes_its_neighbours,
    never_settled,
    warm_up_unfinished,
    global_state_changed,
    clock_dominates,
    few_launches,
    machine_busy,
)
"""The gravest first."""


def audit(recording: Recording) -> tuple[Finding, ...]:
    """Every finding, case by case in the order of the run."""
    return tuple(
        finding for case in each_case(recording) for rule in RULES if (finding := rule(case)) is not None
    )
