"""Early stopping, replayed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.replay import replay
from stepmark.records.settings import Policy
from stepmark.records.verdict import VerdictKind
from stepmark.stats.sequential import looks, share
from stepmark.stats.student import t_interval
from tests.benchmarks.synthetic import MOST, condition, ours

POLICY = Policy(margin=0.01, confidence=0.95)
CENTRES = st.lists(st.floats(-0.05, 0.05), min_size=2, max_size=60)


@given(CENTRES)
def test_the_end_is_a_look_that_decides_or_the_last_launch(centres: list[float]) -> None:
    found = replay(centres, most=MOST, policy=POLICY)
    if found.num_launches < len(centres):
        assert found.num_launches in looks(MOST)
        assert found.verdict is not VerdictKind.INCONCLUSIVE


@given(CENTRES, st.lists(st.floats(-0.05, 0.05), max_size=20))
def test_launches_after_the_stop_change_nothing(centres: list[float], more: list[float]) -> None:
    found = replay(centres, most=MOST, policy=POLICY)
    if found.num_launches < len(centres):
        assert replay([*centres[: found.num_launches], *more, 0.0], most=MOST, policy=POLICY) == found


def test_clear_launches_stop_at_the_first_look_and_unclear_ones_never() -> None:
    clear = replay([0.03, 0.031, 0.029, 0.03, 0.0301, 0.03, 0.03], most=MOST, policy=POLICY)
    assert (clear.verdict, clear.num_launches) == (VerdictKind.SLOWER, looks(MOST)[0])
    unclear = replay([0.0, 0.02] * 15, most=MOST, policy=POLICY)
    assert (unclear.verdict, unclear.num_launches) == (VerdictKind.INCONCLUSIVE, 30)
    last = t_interval(np.array([0.0, 0.02] * 15), confidence=1.0 - 0.05 * share(30, most=MOST, last=True))
    assert np.isclose(np.log(unclear.low), last.low)


def test_a_comparison_takes_the_time_of_the_launches_it_needed() -> None:
    centres = [0.0, 0.0001, -0.0001, 0.0, 0.0001, *[0.0] * 25]
    (found,) = Evidence([ours(condition(), centres)]).comparisons
    assert found.stopped.num_launches == 5
    assert np.isclose(found.seconds, 0.5 + 5 * 0.3)


def test_a_run_that_stopped_by_itself_is_taken_as_it_ended() -> None:
    line = ours(condition(effect=0.05), [0.05, 0.051, 0.049, 0.05, 0.0505, 0.05, 0.05])
    (found,) = Evidence([line]).comparisons
    assert found.stopped.num_launches == 7
    assert found.stopped.verdict is line.measured.verdict
