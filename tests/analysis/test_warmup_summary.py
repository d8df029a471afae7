"""The summary of a warm-up study: what dropping changes, and where the steady part begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.warmup import summarize_warmup
from stepmark.records.sample import Layout, Total
from stepmark.records.warmup import Course, WarmupRecording, WarmupSummary
from tests.support.properties import steady
from tests.support.trials import make_failure
from tests.support.warmups import MS, example, make_trial, make_warmup, slow_then_level


def summarized(recording: WarmupRecording) -> WarmupSummary:
    summary = summarize_warmup(recording)
    assert summary is not None
    return summary


def test_a_slow_first_iteration() -> None:
    trials = [make_trial(slow_then_level([10 * MS], seed=number), number=number) for number in range(5)]
    summary = summarized(make_warmup(trials))
    assert (summary.course, summary.automatic, summary.automatic_range) == (Course.WARMS_UP, 1, (1, 1))
    step = summary.phases[0]
    assert step.phase == summary.primary == "step"
    assert step.first == pytest.approx(10 * MS)
    assert step.steady == pytest.approx(MS, rel=0.01)
    assert [dropped.warmup for dropped in step.dropped] == [0, 1, 2, 5]
    assert [phase.phase for phase in summary.phases] == ["step", "forward", "backward", "optimizer"]
    assert summary.lost_seconds == pytest.approx(9 * MS, rel=0.01)


def test_the_deviation_is_the_populations_as_in_the_published_tables() -> None:
    """One outlier among ten: 0.3 times its distance from the others, with n below."""
    trial = make_trial([10 * MS] + [MS] * 29)
    first, *_ = summarized(make_warmup([trial])).phases[0].dropped
    assert first.num == 10
    assert first.mean == pytest.approx(1.9 * MS)
    assert first.deviation == pytest.approx(0.3 * 9 * MS)
    assert first.median == pytest.approx(MS)


def test_an_automatic_number_of_its_own_has_its_row() -> None:
    trials = [make_trial(slow_then_level([2 * MS] * 8, seed=seed), number=seed) for seed in range(3)]
    summary = summarized(make_warmup(trials))
    assert summary.automatic == 8
    assert [dropped.warmup for dropped in summary.phases[0].dropped] == [0, 1, 2, 5, 8]


def test_never_settled() -> None:
    drifting = np.linspace(2 * MS, MS, 40).tolist()
    summary = summarized(make_warmup([make_trial(drifting, number=n) for n in range(3)], iterations=40))
    assert (summary.course, summary.automatic, summary.automatic_range) == (Course.NEVER_SETTLED, None, None)
    assert {phase.steady for phase in summary.phases} == {None}
    assert [launch.warmup for launch in summary.launches] == [None] * 3


def test_half_of_the_launches_unsettled_is_never_settled() -> None:
    flat = [make_trial(slow_then_level([], seed=n), number=n) for n in range(2)]
    restless = [make_trial(np.linspace(2 * MS, MS, 30).tolist(), number=n) for n in (2, 3)]
    assert summarized(make_warmup([*flat, *restless])).automatic is None
    settled = summarized(make_warmup([*flat, restless[0]]))
    assert (settled.course, settled.automatic) == (Course.FLAT, 0)


def test_short_studies_average_what_there_is() -> None:
    summary = summarized(make_warmup([make_trial([5 * MS, MS, MS, MS])], iterations=4))
    assert [(dropped.warmup, dropped.num) for dropped in summary.phases[0].dropped] == [
        (0, 4),
        (1, 3),
        (2, 2),
    ]


def test_a_primary_total_is_the_sum_of_its_parts() -> None:
    layout = Layout(phases=("a", "b"), primary="both", totals=(Total(name="both", parts=("a", "b")),))
    trial = make_trial([MS] * 12, layout=layout, shares=(1.0, 0.5))
    summary = summarized(make_warmup([trial], iterations=12))
    assert [phase.phase for phase in summary.phases] == ["both", "a", "b"]
    assert summary.curve == pytest.approx([1.5 * MS] * 12)


def test_failed_launches_are_left_out_and_none_left_is_none() -> None:
    recording = example()
    assert len(summarized(recording).launches) == 4
    failed = [replace(trial, failure=make_failure()) for trial in recording.trials]
    assert summarize_warmup(replace(recording, trials=tuple(failed))) is None
    assert summarize_warmup(replace(recording, trials=())) is None


@steady
@given(
    st.lists(st.lists(st.floats(1e-6, 10.0), min_size=12, max_size=12), min_size=1, max_size=4),
)
def test_every_number_lies_among_the_times(rows: list[list[float]]) -> None:
    summary = summarized(
        make_warmup([make_trial(row, number=n) for n, row in enumerate(rows)], iterations=12)
    )
    low, high = min(map(min, rows)), max(map(max, rows))
    for dropped in summary.phases[0].dropped:
        assert low * 0.99 <= dropped.mean <= high * 1.01
        assert low * 0.99 <= dropped.median <= high * 1.01
        assert dropped.deviation <= high
    assert (summary.automatic is None) == (summary.course is Course.NEVER_SETTLED)
    assert summary.lost_seconds >= 0.0
