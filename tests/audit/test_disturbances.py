"""Disturbances: each kind is seen from its limit on, and nothing is made of what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.disturbances import KINDS, disturbances
from stepmark.records.card import CardReading
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchActivity, LaunchTrial
from tests.support.properties import steady
from tests.support.recordings import make_recording

CORES = 4


def launch(
    activity: LaunchActivity | None, *, load: float | None = 1.0, isolation: Isolation = Isolation.SHARED
) -> LaunchTrial:
    """One with two lanes."""
    (made,) = make_recording(num_launches=1, isolation=isolation).launches
    assert made.load is not None
    return replace(made, activity=activity, load=replace(made.load, load_1m=load))


def on_card(processes: int | None) -> LaunchActivity:
    reading = CardReading(processes=processes)
    return LaunchActivity(card=(replace(reading, processes=1), reading))


@steady
@given(
    st.floats(0.0, 9.0) | st.none(),
    st.floats(0.0, 2.0) | st.none(),
    st.floats(0.0, 0.1) | st.none(),
    st.integers(0, 4) | st.none(),
)
def test_every_kind_is_seen_from_its_limit_on(
    load: float | None, others: float | None, stolen: float | None, processes: int | None
) -> None:
    activity = replace(on_card(processes), others=others, stolen=stolen)
    seen = disturbances(launch(activity, load=load), CORES)
    expected = {
        "load": load if load is not None and load > CORES + 0.5 else None,
        "others": others if others is not None and others >= 0.5 else None,
        "stolen": stolen if stolen is not None and stolen >= 0.02 else None,
        "card": processes - 1.0 if processes is not None and processes > 1 else None,
    }
    assert seen == {kind: value for kind, value in expected.items() if value is not None}
    assert set(seen) <= set(KINDS)


@pytest.mark.parametrize("activity", [None, LaunchActivity(), LaunchActivity(others=0.0, stolen=0.0)])
def test_a_launch_that_nobody_watched_or_disturbed(activity: LaunchActivity | None) -> None:
    assert disturbances(launch(activity), CORES) == {}
    assert disturbances(replace(launch(activity), load=None), CORES) == {}


def test_lanes_in_separate_processes_are_as_many_processes_on_the_card() -> None:
    assert disturbances(launch(on_card(2), isolation=Isolation.SEPARATE), CORES) == {}
    assert disturbances(launch(on_card(3), isolation=Isolation.SEPARATE), CORES) == {"card": 1.0}
