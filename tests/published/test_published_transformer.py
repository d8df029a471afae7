"""Corrections of the transformer tables: compilation, the profiler's cost, and which step was timed."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.interchange.grid import GridDocument
from stepmark.published.catalogue import document_of
from stepmark.published.first_call import first_calls, recover
from stepmark.published.profiler_stall import stalls
from stepmark.published.step_rate import spread, step_rates
from stepmark.published.transformer import MODELS, Timing, tables
from tests.support.properties import steady


def document(number: int = 2) -> GridDocument:
    found = document_of(f"transformer-{number}")
    assert isinstance(found, GridDocument)
    return found


@steady
@given(st.floats(0.01, 100.0), st.floats(0.01, 100.0), st.integers(2, 50))
def test_a_first_call_is_recovered_from_mean_and_deviation(first: float, rest: float, num: int) -> None:
    if first > rest:
        steps = [first, *[rest] * (num - 1)]
        timing = Timing(mean=fmean(steps), deviation=pstdev(steps))
        assert recover(timing, num_steps=num) == pytest.approx((first, rest), rel=1e-4, abs=1e-5)


def test_ten_steps_deviate_by_three_tenths_of_the_distance() -> None:
    assert recover(Timing(mean=2.0, deviation=3.0)) == pytest.approx((11.0, 1.0))


def test_first_forward_calls_were_compilation() -> None:
    calls = {(call.size, call.phase): call for call in first_calls(document())}
    forward = [calls[size, "forward"] for size in MODELS]
    assert [round(call.first, 1) for call in forward] == [12.0, 49.2, 75.9, 100.9]
    assert all(call.rest == pytest.approx(call.warm, rel=0.03) for call in forward)
    backward = [calls[size, "backward"] for size in MODELS]
    assert [call.stands_out for call in backward] == [True, False, True, True]
    assert [round(call.first, 2) for call in backward if call.stands_out] == [0.92, 8.32, 12.1]


def test_the_profiler_costs_the_same_for_every_layer() -> None:
    found = stalls(document())
    assert [stall.size for stall in found] == list(MODELS)
    assert [round(stall.per_layer * 1e3, 2) for stall in found] == [3.62, 3.53, 3.46, 3.46]
    assert [round(stall.added * 1e3, 1) for stall in found] == [43.5, 84.6, 124.6, 166.1]
    assert [round(100 * (edge(stall.backward_ratio for stall in found) - 1), 1) for edge in (min, max)] == [
        0.6,
        1.7,
    ]
    assert stalls(document(1)) == ()


def test_all_sizes_compute_at_one_rate_as_run_and_not_as_the_handout() -> None:
    rates = step_rates(document())
    assert [round(rate.forward / 1e12, 1) for rate in rates] == [36.4, 44.7, 42.1, 43.3]
    assert [rate.backward / 1e12 for rate in rates] == pytest.approx([37.0, 44.6, 43.0, 44.1], abs=0.06)
    assert [round(rate.handout_forward / 1e12, 1) for rate in rates] == [22.9, 22.5, 17.1, 14.2]
    assert spread(tuple(rate.forward for rate in rates)) < 1.25
    assert spread(tuple(rate.handout_forward for rate in rates)) > 1.6


def test_there_are_five_tables_of_four_sizes() -> None:
    assert [len(table.rows) for table in tables(document()).values()] == [4] * 5
    assert len(tables(document(1))) == 4
