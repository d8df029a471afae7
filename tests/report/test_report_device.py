"""Times of a device: the host's beside them, marks where it decided, regimes in headings and columns."""

from __future__ import annotations

import csv
import io

from msgspec.structs import replace

from stepmark.records.case import Cache, Execution
from stepmark.records.estimate import Bound
from stepmark.records.run import CaseJudgement, Judgement
from stepmark.report import csv_table, markdown, terminal
from tests.report.ordinary_examples import normal

WAITING = {"forward"}


def on_a_device(judgement: Judgement) -> Judgement:
    """The same run on CUDA, as graphs with cold caches: forward waits for the host, the rest does not."""
    return replace(judgement, cases=tuple(_moved(case) for case in judgement.cases))


def _moved(case: CaseJudgement) -> CaseJudgement:
    cell = replace(case.case.cell, device="cuda", execution=Execution.GRAPH, cache=Cache.COLD)
    summaries = tuple(
        replace(
            summary,
            host_seconds=0.5 * summary.median.point,
            lag_seconds=1e-3,
            bound=Bound.HOST if summary.phase in WAITING else Bound.DEVICE,
        )
        if summary.phase != "remainder"
        else summary
        for summary in case.summaries
    )
    moved = replace(case.case, cell=cell)
    verdicts = tuple(replace(verdict, case=moved.id) for verdict in case.verdicts)
    return replace(case, case=moved, summaries=summaries, verdicts=verdicts)


def test_the_terminal_marks_phases_that_waited_for_the_host() -> None:
    text = terminal.render(on_a_device(normal()), width=120)
    assert "cuda · float32 · train · graph · cold" in text
    headings = next(line for line in text.splitlines() if line.startswith("variant"))
    assert " host" in headings
    assert "ʰ waits for the host: forward of dense" in text
    assert sum("ʰ" in line for line in text.splitlines()) >= 2


def test_nothing_of_it_is_shown_of_a_processor() -> None:
    text = terminal.render(normal(), width=120)
    assert "ʰ" not in text
    assert " host" not in text
    assert "eager" not in text


def test_markdown_has_the_hosts_time() -> None:
    text = markdown.render(on_a_device(normal()))
    assert "| host |" in text.replace("  ", " ")
    assert "ʰ" in text
    assert "graph · cold" in text


def test_csv_has_regimes_and_host_times() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_table.render(on_a_device(normal())))))
    assert {(row["execution"], row["cache"]) for row in rows} == {("graph", "cold")}
    bounds = {row["phase"]: row["bound"] for row in rows if row["phase"]}
    assert (bounds["forward"], bounds["step"], bounds["remainder"]) == ("host", "device", "")
    step = next(row for row in rows if row["phase"] == "step")
    assert float(step["host_seconds"]) == 0.5 * float(step["median_seconds"])
    assert "/cuda/float32/train/graph/cold" in step["case"]


def test_a_budget_that_was_over_too_soon_is_named() -> None:
    judgement = normal()
    settings = replace(judgement.run.settings, budget=10.0)
    missed = replace(
        judgement.cases[-1], outcome=None, primary=None, phases=(), summaries=(), verdicts=(), num_launches=0
    )
    short = replace(
        judgement, run=replace(judgement.run, settings=settings), cases=(*judgement.cases[:-1], missed)
    )
    assert "1 not reached before the budget of 10 s was over" in terminal.render(short, width=120)
