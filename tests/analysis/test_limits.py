"""Per cent of limit: work and traffic over time, against ceilings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.analysis.limits import limit_of
from stepmark.records.case import Cell
from stepmark.records.ceilings import Ceilings, MatrixRate
from stepmark.records.evidence import Conditions, Declared, Evidence
from stepmark.records.inspection import Inspection, PhaseInspection, Product
from stepmark.records.sample import Layout
from tests.support.properties import steady
from tests.support.recordings import QUIET, make_recording

CELL = Cell(suite="s", device="cuda", dtype="bfloat16")
CEILINGS = Ceilings(
    device="cuda",
    threads=1,
    torch="2.11.0",
    host="bench",
    measured=0.0,
    copy_memory=4e12,
    copy_cache=8e12,
    matrix=(
        MatrixRate(dtype="float32", flops_per_second=50e12, size=4096),
        MatrixRate(dtype="bfloat16", flops_per_second=800e12, size=8192),
        MatrixRate(dtype="tfloat32", flops_per_second=400e12, size=8192),
    ),
)
FORWARD = Layout(phases=("forward",), primary="forward")


def phase(flops: float = 0.0, traffic: float = 0.0, dtype: str = "bfloat16", **more: Any) -> PhaseInspection:
    products = (Product(dtype=dtype, calls=1, flops=flops),) if flops else ()
    return PhaseInspection(phase="forward", flops=flops, products=products, traffic=traffic, **more)


def evidence(*phases: PhaseInspection, **more: Any) -> Evidence:
    inspection = {"eager": more.pop("eager", False)}
    return Evidence(layout=FORWARD, inspection=Inspection(phases=phases, **inspection), **more)


@steady
@given(st.floats(1e6, 1e14), st.floats(1e6, 1e11), st.floats(1e-6, 1.0))
def test_the_larger_share_is_the_limit(flops: float, traffic: float, seconds: float) -> None:
    limit = limit_of(CELL, evidence(phase(flops, traffic)), CEILINGS, seconds)
    assert limit is not None
    assert limit.work_share == pytest.approx(flops / 800e12 / seconds)
    of_memory = traffic / seconds / 4e12
    assert limit.in_cache == (of_memory > 1.0)
    assert limit.memory_share == pytest.approx(of_memory / (2.0 if limit.in_cache else 1.0))
    assert limit.share == max(limit.work_share, limit.memory_share)
    assert limit.by in {"work", "cache" if limit.in_cache else "memory"}
    assert not limit.at_least


def test_float32_is_held_against_what_the_settings_make_of_it() -> None:
    for precision, rate in (("highest", 50e12), ("high", 400e12)):
        conditions = Conditions(flags=(("float32_matmul_precision", precision),))
        seen = limit_of(CELL, evidence(phase(1e9, dtype="float32"), conditions=conditions), CEILINGS, 1e-3)
        assert seen is not None
        assert seen.work_share == pytest.approx(1e12 / rate)


def test_declared_work_under_autocast_is_held_against_the_rate_of_its_dtype() -> None:
    claims = Declared(flops=8e11, autocast="bfloat16")
    seen = limit_of(
        replace(CELL, dtype="float32"), evidence(phase(unseen=True), declared=claims), CEILINGS, 2e-3
    )
    assert seen is not None
    assert seen.work_share == pytest.approx(0.5)


def test_declared_work_stands_in_where_nothing_could_be_counted() -> None:
    unseen = phase(unseen=True)
    seen = limit_of(CELL, evidence(unseen, declared=Declared(flops=8e11)), CEILINGS, 2e-3)
    assert seen is not None
    assert seen.share == pytest.approx(0.5)
    assert (seen.by, seen.at_least) == ("work", True)
    assert limit_of(CELL, evidence(unseen), CEILINGS, 2e-3) is None


def test_a_compiled_step_has_no_known_traffic() -> None:
    seen = limit_of(CELL, evidence(phase(8e11, 1e12), eager=True), CEILINGS, 2e-3)
    assert seen is not None
    assert seen.bytes_per_second is None
    assert (seen.memory_share, seen.at_least) == (0.0, True)


def test_a_step_that_is_timed_as_one_spans_all_that_was_inspected() -> None:
    whole = Layout(phases=("step",), primary="step")
    seen = limit_of(CELL, replace(evidence(phase(8e11)), layout=whole), CEILINGS, 2e-3)
    assert seen is not None
    assert seen.work_share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given_", "ceilings", "seconds"),
    [
        (None, CEILINGS, 1.0),
        (evidence(phase(1.0)), None, 1.0),
        (evidence(phase(1.0)), replace(CEILINGS, device="cpu"), 1.0),
        (evidence(phase(1.0)), CEILINGS, None),
        (evidence(phase(1.0)), CEILINGS, 0.0),
        (evidence(phase()), CEILINGS, 1.0),
        (Evidence(layout=FORWARD), CEILINGS, 1.0),
    ],
)
def test_where_nothing_is_known(
    given_: Evidence | None, ceilings: Ceilings | None, seconds: float | None
) -> None:
    assert limit_of(CELL, given_, ceilings, seconds) is None


def test_the_judge_gives_it_for_the_primary_time_with_the_memory() -> None:
    recording = make_recording(num_launches=2, layout=FORWARD, noise=QUIET, seconds=1e-3)
    inspected = evidence(phase(1e9, 1e9, peak_bytes=7, saved_bytes=5), optimizer_state_bytes=3)
    solos = tuple(replace(solo, evidence=inspected) for solo in recording.solos)
    run = replace(recording.run, ceilings=replace(CEILINGS, device="cpu"))
    for case in judge(replace(recording, run=run, solos=solos)).cases:
        assert case.limit is not None
        assert case.limit.memory_share == pytest.approx(0.25, rel=1e-3)
        assert case.memory is not None
        assert (case.memory.above_start, case.memory.saved, case.memory.optimizer_state) == (7, 5, 3)
    assert judge(recording).cases[0].limit is None
