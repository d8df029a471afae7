"""What profiling costs: ratios paired by round, intervals over launches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.profile import summarize_profile
from stepmark.analysis.profile_cost import cost_of_profiling, summarize_cost
from stepmark.records.estimate import Method
from stepmark.records.profile import CostRound, PhaseCost
from stepmark.records.sample import Layout, Total
from tests.support.profiles import example, example_trace, make_cost, make_profile, make_weighing
from tests.support.properties import steady
from tests.support.trials import make_failure


def costs(*ratios: float, **options: Any) -> dict[str, PhaseCost]:
    launches = [make_weighing(ratio, number=number, **options) for number, ratio in enumerate(ratios)]
    return {cost.phase: cost for cost in cost_of_profiling(make_cost(launches))}


def test_every_phase_in_order_with_its_ratio() -> None:
    found = costs(1.24, 1.25, 1.26, noise=0.0)
    assert list(found) == ["step", "forward", "backward"]
    for cost in found.values():
        assert cost.ratio.point == pytest.approx((1.24 * 1.25 * 1.26) ** (1 / 3), rel=1e-4)
        assert cost.ratio.low < 1.25 < cost.ratio.high
        assert (cost.ratio.method, cost.ratio.num_launches) == (Method.T_LAUNCHES, 3)
    assert found["forward"].unprofiled.point == pytest.approx(1e-4 * (1.0 + 0.5 * 2.5 / 6), rel=1e-3)


def test_drift_cancels_in_the_ratio_and_not_in_the_levels() -> None:
    """The machine slows down by half in every launch; blocks of one round share it."""
    cost = costs(1.1, 1.1, 1.1, 1.1, noise=0.001)["forward"]
    assert cost.ratio.half_width < 0.01
    assert cost.profiled.point / cost.unprofiled.point == pytest.approx(1.1, rel=0.01)


def test_launches_are_the_unit_not_rounds() -> None:
    few, many = (costs(1.0, 1.2, rounds=rounds, noise=0.0)["step"].ratio for rounds in (4, 40))
    assert many.half_width == pytest.approx(few.half_width, rel=1e-3)


def test_one_launch_has_an_interval_over_its_rounds() -> None:
    cost = costs(1.3)["forward"]
    assert cost.ratio.method is Method.BOOTSTRAP_BLOCKS
    assert 1.2 < cost.ratio.low <= cost.ratio.point <= cost.ratio.high < 1.4


def test_failed_launches_are_left_out() -> None:
    summary = summarize_profile(example())
    assert summary is not None
    assert {cost.ratio.num_launches for cost in summary.cost} == {4}
    broken = make_weighing(2.0, failure=make_failure())
    assert cost_of_profiling(make_cost([broken])) == ()
    assert cost_of_profiling(make_cost([])) == ()


def test_a_case_says_why_launches_are_missing() -> None:
    broken = make_weighing(2.0, number=1, failure=make_failure(message="it broke"))
    cost = summarize_cost(make_cost([make_weighing(2.0), broken]))
    assert cost.failure is not None
    assert cost.failure.message == "it broke"
    assert cost.phases


def test_totals_are_sums_per_iteration() -> None:
    layout = Layout(phases=("a", "b"), primary="both", totals=(Total(name="both", parts=("a", "b")),))
    launch = replace(
        make_weighing(1.0, layout=layout, seconds=(1e-6, 2e-6), rounds=1),
        iterations=(100, 10),
        rounds=(CostRound(unprofiled=(100_000, 20_000), profiled=(300_000, 20_000), profiled_first=True),),
    )
    found = {cost.phase: cost for cost in cost_of_profiling(make_cost([launch]))}
    assert list(found) == ["a", "b", "both"]
    assert found["both"].unprofiled.point == pytest.approx(3e-6)
    assert found["both"].ratio.point == pytest.approx(5 / 3)


def test_the_same_recording_gives_the_same_cost() -> None:
    recording = make_cost([make_weighing(1.3)])
    assert cost_of_profiling(recording) == cost_of_profiling(recording)


def test_nothing_traced_is_no_summary() -> None:
    assert summarize_profile(make_profile(None)) is None
    assert summarize_profile(make_profile(example_trace(), failure=make_failure())) is None


@steady
@given(st.lists(st.floats(0.5, 4.0), min_size=2, max_size=6))
def test_the_ratio_lies_among_those_of_the_launches(ratios: list[float]) -> None:
    cost = costs(*ratios, noise=0.0)["backward"]
    assert min(ratios) * 0.999 <= cost.ratio.point <= max(ratios) * 1.001
    assert cost.ratio.low <= cost.ratio.point <= cost.ratio.high
