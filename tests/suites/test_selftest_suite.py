"""The self-test's suites: they load, they are no public suites, and their variants do what they say."""

from __future__ import annotations

import time

import pytest
import torch

from stepmark.authoring.load import check, load
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step
from stepmark.records.case import AxisValue, Case, Cell
from stepmark.selftest import SOURCE, TURNS_OF_THE_PRICE
from stepmark.suites import BUILTIN
from stepmark.suites.selftest import WORKLOADS, followed_by_turns, repeated

SUITES = {suite.name: suite for suite in load(SOURCE)}


def built(suite: Suite, variant: str, **axes: AxisValue) -> object:
    case = Case(variant=variant, cell=Cell(suite=suite.name, axes=tuple(axes.items()), mode=suite.modes[0]))
    return suite.variants[variant].at(Point(case, device=torch.device("cpu"), dtype=torch.float32, seed=0))


def test_the_suites_can_be_judged_and_are_not_on_offer() -> None:
    check(SUITES.values())
    assert set(SUITES) == {"selftest_pairs", "selftest_work", "selftest_waits", "selftest_allocation"}
    assert SOURCE.name not in BUILTIN


def test_every_workload_has_a_price() -> None:
    assert set(WORKLOADS) == set(TURNS_OF_THE_PRICE)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_both_sides_of_a_pair_run_the_same_code(workload: str) -> None:
    sides = [built(SUITES["selftest_pairs"], name, workload=workload, turns=7) for name in ("plain", "other")]
    calls = []
    for side in sides:
        assert isinstance(side, Ops)
        calls.append(side.operations["call"])
        calls[-1]()
    assert calls[0].__code__ is calls[1].__code__


def test_the_turns_come_behind_the_call() -> None:
    called: list[int] = []
    followed_by_turns(lambda: called.append(1), 1000)()
    assert called == [1]


def test_twice_the_work_is_twice_the_calls() -> None:
    called: list[int] = []
    for number in (4, 8):
        repeated(lambda: called.append(1), number)()
    assert len(called) == 12
    assert isinstance(built(SUITES["selftest_work"], "twice", calls=4), Ops)


def test_a_wait_is_never_too_short() -> None:
    wait = built(SUITES["selftest_waits"], "wait", microseconds=200)
    assert isinstance(wait, Ops)
    begin = time.perf_counter_ns()
    wait.operations["wait"]()
    assert time.perf_counter_ns() - begin >= 200_000


def test_only_one_side_allocates() -> None:
    x = torch.zeros(8)
    for name in ("without", "with"):
        step = built(SUITES["selftest_allocation"], name, mebibytes=1)
        assert isinstance(step, Step)
        assert torch.equal(step.module(x), x + 1.0)
