"""not-synchronised and phase-bleed: what goes on after the clock has stopped, or in another's clock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.not_synchronised import not_synchronised
from stepmark.audit.phase_bleed import phase_bleed
from stepmark.records.case import Mode
from stepmark.records.finding import Finding, Severity
from stepmark.records.inspection import PhaseInspection
from tests.support.inspected import PLAIN, found, inspected, step
from tests.support.properties import steady

NAMES = ("forward", "loss", "backward", "optimizer")


def late(phase: str, seconds: float, iteration: float = PLAIN["step"]) -> CaseLanes:
    phases = [replace(each, outstanding_seconds=seconds if each.phase == phase else 0.0) for each in step()]
    return inspected(*phases, seconds={**PLAIN, "step": iteration})


def both(case: CaseLanes) -> tuple[Finding | None, Finding | None]:
    return not_synchronised(case), phase_bleed(case)


@steady
@given(st.sampled_from(NAMES), st.floats(0.0, 0.1), st.floats(1e-4, 1.0))
def test_late_work_is_of_the_last_phase_or_bleeds(phase: str, seconds: float, iteration: float) -> None:
    outstanding, bleeding = both(late(phase, seconds, iteration))
    much = seconds >= max(1e-3, 0.05 * round(iteration * 1e9) * 1e-9)
    assert (outstanding is not None) == (much and phase == "optimizer")
    assert (bleeding is not None) == (much and phase != "optimizer")


def test_both_tell_the_time_and_one_is_an_error() -> None:
    outstanding = found(not_synchronised, late("optimizer", 0.012))
    assert outstanding.severity is Severity.ERROR
    assert "12 ms of processor time after optimizer" in outstanding.message
    bleeding = found(phase_bleed, late("forward", 0.012))
    assert bleeding.severity is Severity.WARNING
    assert "after forward had returned" in bleeding.message


def test_any_operation_may_return_too_early() -> None:
    phases = [
        PhaseInspection(phase="a", outstanding_seconds=0.02),
        PhaseInspection(phase="b", outstanding_seconds=0.0),
    ]
    case = inspected(*phases, mode=Mode.OPS, seconds={"a": 0.01, "b": 0.01})
    assert "after a had returned" in found(not_synchronised, case).message
    assert phase_bleed(case) is None


def test_work_on_another_stream() -> None:
    finding = found(not_synchronised, inspected(*step(), foreign_streams=True))
    assert finding.severity is Severity.ERROR
    assert "another stream" in finding.message


def mixed(name: str = "backward", **facts: Any) -> CaseLanes:
    phase = PhaseInspection(phase=name, **facts)
    return inspected(phase, mode=Mode.OPS, seconds={name: 1e-3})


@steady
@given(st.floats(1.0, 1e12), st.floats(0.0, 1e12))
def test_forward_work_in_a_backward_phase_counts_from_a_tenth(forward: float, backward: float) -> None:
    case = mixed(
        operations=20,
        forward_operations=3,
        backward_operations=17,
        flops=forward + backward,
        forward_flops=forward,
        backward_flops=backward,
    )
    assert (phase_bleed(case) is not None) == (forward > 0.1 * (forward + backward))


def test_forward_work_is_a_warning() -> None:
    case = mixed(operations=5, forward_operations=2, backward_operations=3, flops=3e9, forward_flops=1e9)
    finding = found(phase_bleed, case)
    assert finding.severity is Severity.WARNING
    assert "1 GFLOP of 3 GFLOP in backward are forward work" in finding.message


def test_operations_count_where_no_work_is_counted() -> None:
    finding = found(phase_bleed, mixed(operations=16, forward_operations=3, backward_operations=13))
    assert "3 operations of 16" in finding.message


@pytest.mark.parametrize(
    "case",
    [
        mixed(operations=9, forward_operations=9, flops=1e9, forward_flops=1e9),
        mixed(operations=8, forward_operations=2, backward_operations=6),
        mixed(operations=100, forward_operations=8, backward_operations=92),
        mixed("forward", operations=20, forward_operations=10, backward_operations=10),
    ],
    ids=["written by hand", "a sum to start from", "a few among many", "says nothing of backward"],
)
def test_what_is_no_bleeding(case: CaseLanes) -> None:
    assert phase_bleed(case) is None


@pytest.mark.parametrize("name", ["forward and backward", "loss, backward", "step, backward", "fwd+backward"])
def test_a_name_that_says_more_than_backward_is_believed(name: str) -> None:
    phase = PhaseInspection(phase=name, operations=20, forward_operations=10, backward_operations=10)
    case = inspected(phase, mode=Mode.OPS, seconds={name: 0.01})
    assert phase_bleed(case) is None
    accused = inspected(replace(phase, phase="backward"), mode=Mode.OPS, seconds={"backward": 0.01})
    assert phase_bleed(accused) is not None
