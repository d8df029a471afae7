"""A self-test on a terminal: identical code, injected slowdowns, the smallest effect, known quantities."""

from __future__ import annotations

from rich.text import Text

from stepmark.records.diagnosis import State
from stepmark.records.self_test import Quantity, Rate, SelfTest
from stepmark.report import format as show
from stepmark.report.doctor_table import diagnosis_lines
from stepmark.report.grid import Column, Piece, make_grid
from stepmark.report.ledger import HEADING
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet

_LEFT, _RIGHT = Column(fold=True), Column(right=True)
_NOTHING = "no comparison was made: give the test a longer --budget"


def selftest_table(test: SelfTest) -> Sheet:
    """Parts that were not reached are left out; what is wrong stands last."""
    return Sheet(lambda page: _lines(test, page))


def _lines(test: SelfTest, page: Page) -> list[Text]:
    lines = [*page.facts(_facts(test)), Text()]
    for part in (_identical(test), _detections(test), _reaches(test), _quantities(test)):
        if len(part) > 1:
            columns = [_LEFT, *(_RIGHT for _ in part[0][1:])]
            heading = [Piece(title, HEADING) for title in part[0]]
            rows = [[Piece(text) for text in row] for row in part[1:]]
            lines += [*make_grid(columns, [heading, *rows], page=page).lines(page), Text()]
    if not test.observations.comparisons:
        lines += [*page.paragraph(_NOTHING, style="yellow"), Text()]
    doubts = [diagnosis for diagnosis in test.diagnoses if diagnosis.state in (State.WARNING, State.NOTICE)]
    if doubts:
        return [*lines, *diagnosis_lines(doubts, page)]
    if any(diagnosis.state is State.OK for diagnosis in test.diagnoses):
        return [*lines, line(("what was measured agrees with what is known", "green"))]
    return lines


def _facts(test: SelfTest) -> list[str]:
    number = len(test.observations.comparisons)
    facts = [
        "self-test",
        show.plural(number, "comparison"),
        show.duration(test.seconds),
        test.device if test.device != "cpu" else show.plural(test.threads, "thread"),
        f"margin {show.percent(test.margin)}",
        f"seed {test.seed}",
    ]
    facts += [f"{test.num_invalid} without a ratio"] if test.num_invalid else []
    return [*facts, "interrupted"] if test.interrupted else facts


def _identical(test: SelfTest) -> list[list[str]]:
    rows = [["identical code", "FASTER or SLOWER", "interval covers 1", "EQUIVALENT"]]
    for one in test.identical:
        name = one.workload or "both"
        rows.append([name, rate(one.alarms), rate(one.covers), rate(one.equivalent)])
    return rows


def _detections(test: SelfTest) -> list[list[str]]:
    rows = [["injected slowdown", "counted", "SLOWER", "interval above 1"]]
    for one in test.detections:
        name = f"{one.workload}, {show.percent(one.dose)}"
        rows.append([name, _per_cent(one.counted), rate(one.called), rate(one.above)])
    return rows


def _reaches(test: SelfTest) -> list[list[str]]:
    """What four of five comparisons of that length would find, at the false alarms of the confidence."""
    if not test.reaches:
        return []
    horizons = [
        show.duration(seconds).removesuffix(f"{show.NBSP}0{show.NBSP}s")
        for seconds, _ in test.reaches[0].effects
    ]
    rows = [["smallest effect found 4 times of 5 in", *horizons, "launches vary by"]]
    for one in test.reaches:
        effects = ["-" if effect is None else _per_cent(effect) for _, effect in one.effects]
        rows.append([one.workload, *effects, _per_cent(one.deviation)])
    return rows


def _quantities(test: SelfTest) -> list[list[str]]:
    seen = test.observations
    known: list[tuple[str, Quantity, str, str]] = []
    if seen.allocation is not None:
        true, got = (show.size(round(size)) for size in (seen.allocation.true, seen.allocation.seen))
        known.append(("allocation", seen.allocation, true, got))
    if seen.work is not None:
        known.append(("amount of work", seen.work, f"{seen.work.true:.0f}x", f"{seen.work.seen:.3f}x"))
    what = "wait" if test.device == "cpu" else "kernel"
    known += [(what, wait, show.seconds(wait.true), show.seconds(wait.seen)) for wait in seen.waits]
    rows = [["known quantity", "true", "seen", "error"]]
    return [*rows, *([name, true, got, _error(size)] for name, size, true, got in known)]


def rate(counted: Rate) -> str:
    """`0 of 14 [0, 24] %`, bounds rounded outwards."""
    if counted.of == 0:
        return "0 of 0"
    low, high = int(100.0 * counted.low), -int(-100.0 * counted.high // 1)
    return f"{counted.num} of {counted.of} [{low}, {high}]{show.NBSP}%"


def _per_cent(fraction: float) -> str:
    value = 100.0 * fraction
    return f"{value:.1f}{show.NBSP}%" if value >= 0.995 else f"{value:.2f}{show.NBSP}%"


def _error(size: Quantity) -> str:
    return f"{100.0 * size.error:+.2f}{show.NBSP}%"
