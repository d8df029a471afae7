"""Pages: from a judged run to the view of its report, with everything that is concluded and drawn from it."""

from __future__ import annotations

from msgspec.structs import replace

from stepmark.analysis.conclusion import conclude
from stepmark.analysis.crossover import crossovers
from stepmark.published.beside import beside
from stepmark.records.run import Judgement, Recording
from stepmark.report.figures.figure import Figure
from stepmark.report.figures.forest import forest
from stepmark.report.figures.memory import memory
from stepmark.report.figures.phases import phases
from stepmark.report.figures.roofline import roofline
from stepmark.report.figures.samples import samples
from stepmark.report.figures.sweep import sweep
from stepmark.report.figures.warmup import warmup
from stepmark.report.html.build import build_page
from stepmark.report.html.page_view import PageView


def make_page(judgement: Judgement, recording: Recording) -> PageView:
    """Everything that the report of a run shows."""
    return build_page(
        judgement,
        recording,
        figures=run_figures(judgement, recording),
        samples=case_figures(judgement, recording),
        conclusions=conclude(judgement),
        published=beside(judgement),
    )


def run_figures(judgement: Judgement, recording: Recording) -> tuple[Figure, ...]:
    """The figures of a whole run, in the order of the page."""
    return (
        *forest(judgement),
        *sweep(judgement, crossovers(judgement, recording)),
        *phases(judgement),
        *memory(judgement),
        *roofline(judgement),
    )


def case_figures(judgement: Judgement, recording: Recording) -> tuple[Figure, ...]:
    """The figures of one case, of the first that has samples: the page puts other cases' data into them."""
    for case in judgement.cases:
        drawn = samples(judgement, recording, case.case.id)
        if drawn:
            order, launches = drawn
            warm = warmup(recording, case.case.id)
            return (
                replace(order, title="Samples in the order of time"),
                replace(launches, title="Distribution in each launch"),
                *(replace(figure, title="Warm-up") for figure in warm),
            )
    return ()
