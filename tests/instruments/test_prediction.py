"""Prediction: hopeless cases are named before anything of them is made."""

from __future__ import annotations

import math
from pathlib import Path

import psutil
import pytest
import torch

from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.errors import TooLarge, TooLong
from stepmark.instruments.prediction import _group_memory_left, refuse_hopeless
from stepmark.instruments.torch_binding import bind
from stepmark.measure.failures import from_exception
from stepmark.records.case import Case, Cell
from stepmark.records.outcome import Cause, Outcome, Stage

CPU = torch.device("cpu")


def test_more_memory_than_is_left_is_refused_with_both_numbers() -> None:
    total = psutil.virtual_memory().total
    with pytest.raises(TooLarge, match=r"would need about [\d.]+ GiB, and [\d.]+ GiB are left") as caught:
        refuse_hopeless(Needs(memory=2.0 * total), device=CPU, dtype=torch.float32)
    failure = from_exception(caught.value, Stage.BUILD)
    assert (failure.outcome, failure.cause) == (Outcome.OUT_OF_MEMORY, Cause.PREDICTED)


def test_a_step_of_hours_is_refused() -> None:
    with pytest.raises(TooLong, match=r"a step would take \d+ s or more") as caught:
        refuse_hopeless(Needs(memory=0.0, flops=1e18), device=CPU, dtype=torch.float32)
    failure = from_exception(caught.value, Stage.BUILD)
    assert (failure.outcome, failure.cause) == (Outcome.TIMED_OUT, Cause.PREDICTED)


@pytest.mark.parametrize("flops", [0.0, 1e9, 2e11])
def test_what_fits_is_let_through(flops: float) -> None:
    refuse_hopeless(Needs(memory=1e6, flops=flops), device=CPU, dtype=torch.float32)


def test_nothing_of_a_hopeless_variant_is_built() -> None:
    suite = Suite("mine")

    def build(_c: Point) -> Step:
        raise AssertionError("built")

    suite.variant(needs=lambda _c: Needs(memory=math.inf))(build)
    with pytest.raises(TooLarge):
        bind(suite.variants["build"], Case(variant="build", cell=Cell(suite="mine")), seed=0)


@pytest.mark.parametrize(
    ("limit", "used", "left"),
    [("1000", "400", 600.0), ("1000", "2000", 0.0), ("max", "400", math.inf), (None, None, math.inf)],
)
def test_a_container_has_what_its_limit_leaves(
    tmp_path: Path, limit: str | None, used: str | None, left: float
) -> None:
    for name, text in (("memory.max", limit), ("memory.current", used)):
        if text is not None:
            (tmp_path / name).write_text(text + "\n")
    assert _group_memory_left(tmp_path) == left
