"""Samples and warm-up of one case: every block in its place, outliers marked and never thinned away."""

from __future__ import annotations

import pytest

from stepmark.errors import UsageError
from stepmark.pipeline import judged
from stepmark.records.run import Judgement, Recording
from stepmark.report.figures.draw import svg
from stepmark.report.figures.figure import Figure
from stepmark.report.figures.sample_data import sample_rows
from stepmark.report.figures.samples import samples
from stepmark.report.figures.warmup import warmup, warmup_rows
from tests.report.figures.figure_examples import check
from tests.support.recordings import make_recording


@pytest.fixture(scope="module")
def recording() -> Recording:
    return make_recording(variants={"dense": 1.0, "mine": 1.2}, num_launches=4, num_rounds=25)


@pytest.fixture(scope="module")
def judgement(recording: Recording) -> Judgement:
    return judged(recording)


def case_of(recording: Recording) -> str:
    return recording.run.cases[1].id


def test_blocks_stand_in_the_order_of_time(judgement: Judgement, recording: Recording) -> None:
    rows = sample_rows(judgement, recording, case_of(recording))
    assert [row["place"] for row in rows["samples"]] == list(range(100))
    assert [row["launch"] for row in rows["launches"]] == [0, 1, 2, 3]
    ends = [(row["first"], row["last"]) for row in rows["launches"]]
    assert ends == [(25.0 * n - 0.5, 25.0 * n + 24.5) for n in range(4)]


def test_outliers_are_those_that_the_summary_counts(judgement: Judgement, recording: Recording) -> None:
    rows = sample_rows(judgement, recording, case_of(recording))
    summary = judgement.cases[1].summary("step")
    assert summary is not None
    marked = [row for row in rows["samples"] if row["label"] != "regular"]
    assert len(marked) == summary.outliers.total == sum(row["outliers"] for row in rows["launches"])


def test_thinning_keeps_every_outlier(judgement: Judgement, recording: Recording) -> None:
    whole = sample_rows(judgement, recording, case_of(recording))["samples"]
    few = sample_rows(judgement, recording, case_of(recording), most=10)["samples"]
    assert [row for row in few if row["label"] != "regular"] == [
        row for row in whole if row["label"] != "regular"
    ]
    assert len(few) < len(whole)


def test_boxes_are_ordered_and_whiskers_end_at_blocks(judgement: Judgement, recording: Recording) -> None:
    rows = sample_rows(judgement, recording, case_of(recording))
    seen = {row["seconds"] for row in rows["samples"]}
    for row in rows["launches"]:
        assert row["low"] <= row["q1"] <= row["median"] <= row["q3"] <= row["high"]
        assert {row["low"], row["high"]} <= seen


def test_both_figures_read_the_same_data(judgement: Judgement, recording: Recording) -> None:
    order, launches = samples(judgement, recording, case_of(recording))
    assert order.spec["datasets"] == launches.spec["datasets"]
    for figure in (order, launches, *warmup(recording, case_of(recording))):
        check(figure)
        assert figure.spec["width"] == "container"
        assert svg(figure).startswith("<svg")


def test_only_the_data_differ_from_case_to_case(judgement: Judgement, recording: Recording) -> None:
    one, other = (
        [*samples(judgement, recording, case.id), *warmup(recording, case.id)] for case in recording.run.cases
    )
    assert [frame(figure) for figure in one] == [frame(figure) for figure in other]


def frame(figure: Figure) -> dict[str, object]:
    return {name: part for name, part in figure.spec.items() if name != "datasets"}


def test_the_warm_up_has_first_iterations_and_blocks_of_every_launch(recording: Recording) -> None:
    rows = warmup_rows(recording, case_of(recording))["warmup"]
    assert {row["launch"] for row in rows} == {0, 1, 2, 3}
    for launch in range(4):
        iterations = [row["iteration"] for row in rows if row["launch"] == launch]
        assert iterations == sorted(iterations)
        assert all(row["seconds"] > 0.0 for row in rows)


def test_an_unknown_case_is_refused(judgement: Judgement, recording: Recording) -> None:
    with pytest.raises(UsageError, match="no case 'nobody'"):
        samples(judgement, recording, "nobody")
    with pytest.raises(UsageError, match="no case 'nobody'"):
        warmup(recording, "nobody")


def test_a_case_without_samples_has_no_figure(recording: Recording) -> None:
    bare = Recording(run=recording.run)
    assert samples(judged(bare), bare, case_of(bare)) == ()
    assert warmup(bare, case_of(bare)) == ()
