"""Ceilings of several measurements: the best of each rate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.ceilings import Ceilings, MatrixRate, highest, machine_name
from tests.support.properties import steady

RATES = st.floats(1.0, 1e18)


@st.composite
def measurements(draw: st.DrawFn) -> Ceilings:
    dtypes = draw(st.lists(st.sampled_from(["float32", "bfloat16", "int8"]), unique=True))
    return Ceilings(
        device="cpu",
        threads=1,
        torch="2.13.0",
        host="bench",
        measured=draw(st.floats(0.0, 1e9)),
        copy_memory=draw(RATES),
        copy_cache=draw(RATES),
        matrix=tuple(MatrixRate(dtype=dtype, flops_per_second=draw(RATES), size=512) for dtype in dtypes),
    )


@steady
@given(st.lists(measurements(), min_size=1, max_size=4))
def test_no_measurement_is_above_the_highest_and_each_rate_was_measured(several: list[Ceilings]) -> None:
    best = highest(several)
    assert best.measured == max(each.measured for each in several)
    assert best.copy_memory == max(each.copy_memory for each in several)
    assert best.copy_cache == max(each.copy_cache for each in several)
    measured = [rate for each in several for rate in each.matrix]
    assert {rate.dtype for rate in best.matrix} == {rate.dtype for rate in measured}
    for rate in best.matrix:
        alike = [each.flops_per_second for each in measured if each.dtype == rate.dtype]
        assert rate.flops_per_second == max(alike) == best.flops_per_second(rate.dtype)


@steady
@given(st.lists(measurements(), min_size=1, max_size=3))
def test_the_highest_stays_the_highest(several: list[Ceilings]) -> None:
    best = highest(several)
    again = highest([*several, best])
    assert (again.copy_memory, again.copy_cache) == (best.copy_memory, best.copy_cache)
    assert {*again.matrix} == {*best.matrix}


def test_a_machine_has_one_name() -> None:
    assert machine_name("bench", "Example CPU") == "bench, Example CPU"
    assert machine_name("bench", "Example CPU", "Example GPU") == "bench, Example CPU, Example GPU"
