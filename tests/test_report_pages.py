"""Pages: from a recording to everything its report shows."""

from __future__ import annotations

from stepmark.pages import make_page, run_figures
from stepmark.pipeline import judged
from stepmark.report.figures.figure import Kind
from tests.support.whole_runs import whole_run


def test_a_page_has_every_part_of_a_run_that_has_everything() -> None:
    recording = whole_run(num_launches=3, num_rounds=5)
    page = make_page(judged(recording), recording)
    assert list(page.sections) == ["comparison", "sweep", "phases", "limit"]
    assert len(page.cases) == len(recording.run.cases)
    assert {row.anchor for row in page.rows} == {case.anchor for case in page.cases}
    assert [each.conclusions[0].baseline for each in page.conclusions] == ["dense"]
    assert len(page.memory) == len(recording.run.cases)
    assert page.published is None
    assert page.samples


def test_figures_have_names_of_their_own() -> None:
    recording = whole_run(num_launches=3, num_rounds=5)
    figures = run_figures(judged(recording), recording)
    assert len({figure.name for figure in figures}) == len(figures)
    assert {figure.kind for figure in figures} == {
        Kind.FOREST,
        Kind.SWEEP,
        Kind.PHASES,
        Kind.MEMORY,
        Kind.ROOFLINE,
    }
