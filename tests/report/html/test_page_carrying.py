"""Series: every raw value is on the page, or the page knows which are not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.sample import unpack
from stepmark.report.html.carrying import carry, primary_seconds, room_for, series_of, turns_in
from stepmark.report.html.evidence import timed_cases
from stepmark.report.html.packing import unpack_column
from stepmark.report.html.series import Carried
from tests.support.properties import steady
from tests.support.recordings import make_recording
from tests.support.trials import OPS
from tests.support.whole_runs import whole_run


def test_every_block_comes_back_with_its_round_and_turn() -> None:
    recording = whole_run(num_launches=3, num_rounds=7, num_confirming=0)
    for case, timed in timed_cases(recording).items():
        series = series_of(timed)
        count = sum(series.blocks)
        assert series.launches == (0, 1, 2)
        rounds = [each for _, lane in timed.lanes for each in unpack(lane.rounds)]
        assert unpack_column(series.rounds, count).tolist() == rounds
        for phase in series.phases:
            stored = [
                each
                for _, lane in timed.lanes
                for sample in lane.samples
                if sample.phase == phase.phase
                for each in unpack(sample.nanoseconds)
            ]
            assert unpack_column(phase.nanoseconds, count).tolist() == stored
        assert series.shown[0].name == "step", case


@steady
@given(every=st.integers(1, 9), num_rounds=st.integers(1, 20))
def test_thinning_keeps_every_nth_round(every: int, num_rounds: int) -> None:
    recording = whole_run(num_launches=2, num_rounds=num_rounds, num_confirming=0, axes={"features": (8,)})
    timed = next(iter(timed_cases(recording).values()))
    series = series_of(timed, every=every)
    assert series.blocks == (len(range(0, num_rounds, every)),) * 2
    kept = unpack_column(series.rounds, sum(series.blocks))
    assert kept.tolist() == [*range(0, num_rounds, every)] * 2


def test_what_is_carried_follows_the_budget() -> None:
    timed = timed_cases(whole_run(num_launches=4, num_rounds=200))
    everything, carried, every = carry(timed, budget=room_for(3))
    size = sum(each.size for each in everything.values())
    assert (carried, every) == (Carried.ALL, 1)
    primary, carried, every = carry(timed, budget=size // 2)
    assert (carried, every) == (Carried.PRIMARY, 1)
    assert all([phase.phase for phase in each.phases] == ["step"] for each in primary.values())
    thinned, carried, every = carry(timed, budget=size // 15)
    assert carried is Carried.THINNED
    assert every > 1
    assert sum(each.size for each in thinned.values()) <= size // 15


def test_a_total_is_the_sum_of_its_parts_per_iteration() -> None:
    recording = make_recording(layout=OPS, num_launches=2, num_rounds=5)
    timed = next(iter(timed_cases(recording).values()))
    series = series_of(timed)
    assert (series.shown[0].name, series.shown[0].parts) == ("total", OPS.phases)
    seconds = primary_seconds(timed)
    assert seconds is not None
    lane = timed.lanes[0][1]
    first = sum(unpack(sample.nanoseconds)[0] / sample.iterations for sample in lane.samples) * 1e-9
    assert np.isclose(seconds[0, 0], first)


def test_turns_are_places_in_the_round() -> None:
    recording = whole_run(num_launches=1, num_rounds=9, num_confirming=0, axes={"features": (8,)})
    (launch,) = recording.launches
    for lane in launch.lanes:
        places = [order.index(lane.variant) + 1 for order in launch.round_orders]
        assert turns_in(launch)[lane.variant].tolist() == places


def test_an_unknown_order_is_no_turn() -> None:
    recording = make_recording(num_launches=1, num_rounds=3)
    (launch,) = recording.launches
    assert turns_in(launch)[launch.lanes[0].variant].tolist() == [0, 0, 0]


def test_many_cases_leave_less_room_for_raw_values() -> None:
    rooms = [room_for(cases) for cases in (1, 8, 200, 400, 10_000)]
    assert rooms == sorted(rooms, reverse=True)
    assert rooms[2] < 1_200_000
    assert rooms[-1] > 0
