"""Promises are broken only where the interval of a rate says so."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stepmark.analysis.self_evaluation import rate
from stepmark.doctor.promises import check_promises
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.self_test import Detection, Identical, Observations, Quantity, SelfTest

EMPTY = SelfTest(
    budget=60.0,
    seconds=60.0,
    threads=1,
    seed=0,
    margin=0.01,
    confidence=0.95,
    interrupted=False,
    observations=Observations(),
    identical=(),
    detections=(),
    reaches=(),
    num_invalid=0,
)


def found(check: Check, **parts: Any) -> Diagnosis:
    return next(one for one in check_promises(replace(EMPTY, **parts)) if one.check is check)


def identical(*, alarms: int = 0, missed: int = 0, of: int = 20) -> Identical:
    return Identical(
        workload="norm",
        alarms=rate(n < alarms for n in range(of)),
        equivalent=rate([]),
        covers=rate(n >= missed for n in range(of)),
    )


def test_what_was_not_measured_is_unknown() -> None:
    assert {one.state for one in check_promises(EMPTY)} == {State.UNKNOWN}
    assert {one.seen for one in check_promises(EMPTY)} == {"not measured"}


@pytest.mark.parametrize(("alarms", "state"), [(0, State.OK), (3, State.OK), (5, State.WARNING)])
def test_false_alarms(alarms: int, state: State) -> None:
    """3 of 20 happen to an honest tool (5 % each) in 7.5 % of tests, 5 of 20 in 0.3 %."""
    seen = found(Check.FALSE_ALARMS, identical=(identical(alarms=alarms),))
    assert seen.state is state
    assert f"{alarms} of 20" in seen.seen


@pytest.mark.parametrize(("missed", "state"), [(1, State.OK), (3, State.OK), (6, State.WARNING)])
def test_coverage(missed: int, state: State) -> None:
    assert found(Check.COVERAGE, identical=(identical(missed=missed),)).state is state


def test_the_last_row_is_the_one_that_counts() -> None:
    rows = (identical(alarms=20), identical(alarms=0))
    assert found(Check.FALSE_ALARMS, identical=rows).state is State.OK


@pytest.mark.parametrize(
    ("dose", "called", "state"),
    [(0.05, 9, State.OK), (0.05, 3, State.NOTICE), (0.02, 0, State.UNKNOWN)],
)
def test_detection_of_a_plain_slowdown(dose: float, called: int, state: State) -> None:
    row = Detection(
        workload="norm",
        dose=dose,
        counted=dose,
        called=rate(n < called for n in range(10)),
        above=rate([]),
    )
    assert found(Check.DETECTION, detections=(row,)).state is state


@pytest.mark.parametrize(
    ("check", "name", "limit"),
    [(Check.ALLOCATION, "allocation", 0.05), (Check.WORK, "work", 0.02), (Check.TIMER, "waits", 0.02)],
)
def test_known_quantities(check: Check, name: str, limit: float) -> None:
    for error, state in (
        (0.9 * limit, State.OK),
        (1.1 * limit, State.WARNING),
        (-1.1 * limit, State.WARNING),
    ):
        size = Quantity(true=2.0, seen=2.0 * (1.0 + error))
        seen = Observations(**{name: (size,) if name == "waits" else size})  # type: ignore[arg-type]
        assert found(check, observations=seen).state is state


def test_an_error_that_chance_explains_breaks_nothing() -> None:
    size = Quantity(true=2.0, seen=2.2, low=1.9, high=2.5)
    assert found(Check.WORK, observations=Observations(work=size)).state is State.OK
    certain = replace(size, low=2.1)
    assert found(Check.WORK, observations=Observations(work=certain)).state is State.WARNING
