"""faster-than-physics: counted work against measured time and measured ceilings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.faster_than_physics import faster_than_physics
from stepmark.audit.lanes import CaseLanes, each_case
from stepmark.records.ceilings import Ceilings, MatrixRate
from stepmark.records.evidence import Conditions
from stepmark.records.finding import Severity
from stepmark.records.inspection import Inspection, PhaseInspection, Product
from stepmark.records.sample import Layout
from tests.support.properties import steady
from tests.support.recordings import QUIET, make_recording
from tests.support.trials import FORWARD, OPS, TRAIN

SECONDS = 1e-3
"""Of an iteration: of a training step a tenth is forward, two are loss, three backward, four optimizer."""
CEILINGS = Ceilings(
    device="cpu",
    threads=1,
    torch="2.13.0",
    host="bench",
    measured=0.0,
    copy_memory=10e9,
    copy_cache=100e9,
    matrix=(
        MatrixRate(dtype="float32", flops_per_second=100e9, size=512),
        MatrixRate(dtype="bfloat16", flops_per_second=400e9, size=512),
        MatrixRate(dtype="float16", flops_per_second=1e9, size=512),
        MatrixRate(dtype="float64", flops_per_second=50e9, size=512),
    ),
)


def products(phase: str, flops: float, dtype: str = "float32") -> PhaseInspection:
    return PhaseInspection(
        phase=phase, flops=flops, products=(Product(dtype=dtype, calls=1, flops=flops),), traffic=1e12
    )


def measured(
    *phases: PhaseInspection,
    layout: Layout = FORWARD,
    ceilings: Ceilings | None = CEILINGS,
    conditions: Conditions | None = None,
    **facts: Any,
) -> CaseLanes:
    recording = make_recording(num_launches=3, layout=layout, noise=QUIET, seconds=SECONDS)
    solos = []
    for solo in recording.solos:
        assert solo.evidence is not None
        evidence = replace(
            solo.evidence,
            inspection=Inspection(phases=phases, **facts),
            conditions=conditions or Conditions(),
        )
        solos.append(replace(solo, evidence=evidence))
    run = replace(recording.run, ceilings=ceilings)
    return next(iter(each_case(replace(recording, run=run, solos=tuple(solos)))))


@steady
@given(st.floats(1e3, 1e12), st.sampled_from(["float32", "bfloat16", "float16", "float64", "float8_e4m3fn"]))
def test_twice_the_matrix_rate_is_the_limit(flops: float, dtype: str) -> None:
    rate = {"float32": 100e9, "bfloat16": 400e9, "float16": 100e9, "float64": 50e9}.get(dtype)
    finding = faster_than_physics(measured(products("forward", flops, dtype)))
    excess = flops / rate / SECONDS if rate else 0.0
    if abs(excess - 2.0) > 1e-6:
        assert (finding is not None) == (excess > 2.0), "float16 may be widened, an unknown type has no limit"
    if finding is not None:
        assert finding.severity is Severity.ERROR
        assert dict(finding.numbers)["excess"] == pytest.approx(excess)


def test_the_message_has_both_times() -> None:
    finding = faster_than_physics(measured(products("forward", 1e9)))
    assert finding is not None
    assert finding.message == (
        "forward takes 1 ms, but the work counted in it takes 10 ms at the best rates of this machine, "
        "10 times as long"
    )


def test_types_follow_one_another() -> None:
    mixed = PhaseInspection(
        phase="forward",
        flops=7e8,
        products=(
            Product(dtype="float32", calls=1, flops=1.5e8),
            Product(dtype="bfloat16", calls=1, flops=6e8),
        ),
    )
    assert faster_than_physics(measured(mixed)) is not None, "1.5 ms and 1.5 ms"
    halved = replace(mixed, products=mixed.products[:1])
    assert faster_than_physics(measured(halved)) is None


@steady
@given(st.floats(1e3, 1e10))
def test_bytes_count_where_there_is_no_product(traffic: float) -> None:
    finding = faster_than_physics(measured(PhaseInspection(phase="forward", traffic=traffic)))
    excess = traffic / 100e9 / SECONDS
    if abs(excess - 2.0) > 1e-6:
        assert (finding is not None) == (excess > 2.0)
    assert finding is None or finding.severity is Severity.WARNING, "an operation need not read everything"


def test_an_error_goes_before_a_warning_that_is_further_beyond() -> None:
    moved = [PhaseInspection(phase=name, traffic=1e12) for name in OPS.phases[1:]]
    finding = faster_than_physics(measured(products("quantize", 1e9), *moved, layout=OPS))
    assert finding is not None
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("quantize takes")


@pytest.mark.parametrize(("skippable", "speaks"), [(0.0, True), (0.9e8, True), (1.1e8, False), (3e8, False)])
def test_what_a_causal_attention_leaves_out_is_no_work(skippable: float, speaks: bool) -> None:
    attention = replace(products("forward", 3e8), skippable_flops=skippable)
    assert (faster_than_physics(measured(attention)) is not None) == speaks


def test_a_single_phase_is_enough() -> None:
    phases = [PhaseInspection(phase=name) for name in ("loss", "backward", "optimizer")]
    finding = faster_than_physics(measured(products("forward", 5e7), *phases, layout=TRAIN))
    assert finding is not None
    assert finding.message.startswith("forward takes 100 µs")
    usual = measured(products("forward", 1e7), *phases, layout=TRAIN)
    assert faster_than_physics(usual) is None


def test_the_parts_of_a_total_are_held_against_it() -> None:
    phases = [products(name, 1.2e8) for name in OPS.phases]
    finding = faster_than_physics(measured(*phases, layout=OPS))
    assert finding is not None


@pytest.mark.parametrize("facts", [{"eager": True}, {"ceilings": None}])
def test_silent_where_it_cannot_know(facts: dict[str, Any]) -> None:
    assert faster_than_physics(measured(products("forward", 1e12), **facts)) is None


def test_silent_behind_torchs_back_and_about_another_device() -> None:
    unseen = replace(products("forward", 1e12), unseen=True)
    assert faster_than_physics(measured(unseen)) is None
    elsewhere = replace(CEILINGS, device="cuda")
    assert faster_than_physics(measured(products("forward", 1e12), ceilings=elsewhere)) is None


def test_float32_with_fewer_bits_may_be_as_fast_as_a_short_type() -> None:
    relaxed = Conditions(flags=(("float32_matmul_precision", "medium"),))
    work = products("forward", 5e8)
    assert faster_than_physics(measured(work)) is not None
    assert faster_than_physics(measured(work, conditions=relaxed)) is None
    assert faster_than_physics(measured(products("forward", 1e9), conditions=relaxed)) is not None
