"""The list of rules, and the audit that asks each of them about each case.

A rule is a pure function from one case to a finding or nothing: at most one finding per case and rule.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from stepmark.audit.backward_does_nothing import backward_does_nothing
from stepmark.audit.changes_its_neighbours import changes_its_neighbours
from stepmark.audit.clock_dominates import clock_dominates
from stepmark.audit.clock_drift import clock_drift
from stepmark.audit.compiled_inside import compiled_inside
from stepmark.audit.compiled_unannounced import compiled_unannounced
from stepmark.audit.dead_work import dead_work
from stepmark.audit.degenerate_data import degenerate_data
from stepmark.audit.differs_from_baseline import grad_mode_differs, precision_differs, threads_differ
from stepmark.audit.eager_fallback import eager_fallback
from stepmark.audit.faster_than_physics import faster_than_physics
from stepmark.audit.few_launches import few_launches
from stepmark.audit.global_state_changed import global_state_changed
from stepmark.audit.gradient_not_applied import gradient_not_applied
from stepmark.audit.gradients_accumulate import gradients_accumulate
from stepmark.audit.graph_retained import graph_retained
from stepmark.audit.host_bound import host_bound
from stepmark.audit.inputs_made_inside import inputs_made_inside
from stepmark.audit.lane_failed_in_company import lane_failed_in_company
from stepmark.audit.lanes import CaseLanes, each_case
from stepmark.audit.leftover_memory import leftover_memory
from stepmark.audit.looked_on import anomaly_mode, debug_build, profiler_attached
from stepmark.audit.meanings import MEANINGS
from stepmark.audit.memory_grows import memory_grows
from stepmark.audit.more_work_than_needed import more_work_than_needed
from stepmark.audit.mutates_inputs import mutates_inputs
from stepmark.audit.never_settled import never_settled
from stepmark.audit.noisy_neighbour import noisy_neighbour
from stepmark.audit.not_audited import not_audited
from stepmark.audit.not_deterministic import not_deterministic
from stepmark.audit.not_synchronised import not_synchronised
from stepmark.audit.not_the_declared_work import not_the_declared_work
from stepmark.audit.optimizer_does_nothing import optimizer_does_nothing
from stepmark.audit.parameter_without_gradient import parameter_without_gradient
from stepmark.audit.phase_bleed import phase_bleed
from stepmark.audit.quantised_clock import quantised_clock
from stepmark.audit.same_work_as_baseline import same_work_as_baseline
from stepmark.audit.slow_baseline import slow_baseline
from stepmark.audit.synchronises_inside import synchronises_inside
from stepmark.audit.throttled import throttled
from stepmark.audit.uneven_iterations import uneven_iterations
from stepmark.audit.warm_up_unfinished import warm_up_unfinished
from stepmark.audit.wrong_numbers import wrong_numbers
from stepmark.records.finding import Finding
from stepmark.records.run import Recording

Rule = Callable[[CaseLanes], Finding | None]

RULES: tuple[Rule, ...] = (
    # The case is not what it claims to be.
    *(lane_failed_in_company, wrong_numbers, not_the_declared_work, not_synchronised, phase_bleed),
    *(backward_does_nothing, optimizer_does_nothing, dead_work, degenerate_data, faster_than_physics),
    uneven_iterations,
    # What it does may mislead.
    *(parameter_without_gradient, gradient_not_applied, gradients_accumulate, graph_retained),
    inputs_made_inside,
    *(same_work_as_baseline, more_work_than_needed, slow_baseline, not_deterministic, mutates_inputs),
    *(compiled_inside, compiled_unannounced, eager_fallback, leftover_memory, memory_grows),
    # The two arms are not under the same conditions.
    *(precision_differs, threads_differ, grad_mode_differs, profiler_attached, anomaly_mode, debug_build),
    *(changes_its_neighbours, global_state_changed),
    # The measurement itself.
    *(never_settled, warm_up_unfinished, clock_dominates, quantised_clock, few_launches, throttled),
    *(clock_drift, noisy_neighbour, host_bound, synchronises_inside, not_audited),
)
"""In the order in which they are told."""


def audit(recording: Recording) -> tuple[Finding, ...]:
    """Every finding, case by case in the order of the run."""
    return tuple(
        replace(finding, meaning=MEANINGS[finding.name])
        for case in each_case(recording)
        for rule in RULES
        if (finding := rule(case)) is not None
    )
