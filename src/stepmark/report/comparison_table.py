"""A comparison on a terminal: the two runs, a table a suite, then what differs and what is assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo

from rich.text import Text

from stepmark.records.case import Cell
from stepmark.records.comparison import CaseComparison, Comparison, PhaseComparison, Standing
from stepmark.records.verdict import Reason
from stepmark.report import comparison_wording as wording
from stepmark.report import format as show
from stepmark.report.grid import Column, Piece, Row, align, make_grid
from stepmark.report.ledger import HEADING, STYLES
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet
from stepmark.report.wording import marks, numbered_reasons, time_heading

COLUMNS = (
    Column(fold=True),
    Column(right=True),
    Column(right=True),
    Column(right=True),
    Column(gap=1),
    Column(),
    Column(gap=1),
)
_STYLES = {Standing.REFUSED: "magenta", Standing.ALLOWED: "yellow", Standing.NAMED: ""}
_WORDS = {Standing.REFUSED: "refused", Standing.ALLOWED: "allowed", Standing.NAMED: "differs"}


def comparison_table(comparison: Comparison, *, phases: bool = False, zone: tzinfo | None = None) -> Sheet:
    """As wide as the console it is printed on; `phases` lists every phase with its own ratio and verdict."""
    return Sheet(lambda page: _lines(comparison, page, phases=phases, zone=zone))


def render(
    comparison: Comparison, *, phases: bool = False, zone: tzinfo | None = None, width: int = 80
) -> str:
    """As plain text, without colours."""
    return comparison_table(comparison, phases=phases, zone=zone).text(width=width)


def _lines(comparison: Comparison, page: Page, *, phases: bool, zone: tzinfo | None) -> list[Text]:
    reasons = wording.numbered(comparison, phases=phases)
    lines = [*_opening(comparison, page, zone), Text()]
    for suite, cells in wording.by_suite(comparison).items():
        lines += [*_suite(suite, cells, reasons, page, phases=phases), Text()]
    return [*lines, *_closing(comparison, reasons, page)]


def _opening(comparison: Comparison, page: Page, zone: tzinfo | None) -> list[Text]:
    """That it is unpaired comes first: it is what the numbers must be weighed by."""
    sides = wording.sides(comparison, zone=zone)
    rows = [[Piece(side.letter, "bold"), Piece(side.id), Piece(side.about)] for side in sides]
    grid = make_grid((Column(), Column(), Column(fold=True)), rows, page=page)
    return [*page.paragraph(wording.UNPAIRED, style="bold yellow"), *grid.lines(page)]


def _suite(
    suite: str,
    cells: Mapping[Cell, Sequence[CaseComparison]],
    reasons: Sequence[Reason],
    page: Page,
    *,
    phases: bool,
) -> list[Text]:
    shown = [
        (cell, case, phase)
        for cell, cases in cells.items()
        for case in cases
        for phase in wording.shown_phases(case, phases=phases)
    ]
    times = [time for _, _, phase in shown for time in (phase.baseline_seconds, phase.candidate_seconds)]
    unit = show.shared_unit([time for time in times if time is not None])
    numbers = _numbers([phase for *_, phase in shown], unit)
    rows: list[Row] = [_titles(unit)]
    before: Cell | None = None
    for (cell, case, phase), pieces in zip(shown, numbers, strict=True):
        if cell != before:
            rows.append([Piece(wording.cell_title(cell), "bold", span=len(COLUMNS), fold=True)])
            before = cell
        label = case.case.variant if phase is case.primary else f"  {phase.phase}"
        rows.append([Piece(f"  {label}"), *pieces, *_verdict(phase, reasons)])
    primaries = {case.primary.phase for cases in cells.values() for case in cases if case.primary.phase}
    return [
        *page.heading(suite, primaries.pop() if len(primaries) == 1 else ""),
        *make_grid(COLUMNS, rows, page=page).lines(page),
    ]


def _titles(unit: show.TimeUnit | None) -> list[Piece]:
    times = (time_heading(letter, unit) for letter in (wording.BASELINE, wording.CANDIDATE))
    ratio = f"{wording.CANDIDATE} / {wording.BASELINE}"
    return [
        Piece("variant", HEADING),
        *(Piece(title, HEADING) for title in times),
        Piece(ratio, HEADING, span=2),
        Piece("verdict", HEADING, span=2),
    ]


def _numbers(phases: Sequence[PhaseComparison], unit: show.TimeUnit | None) -> Iterator[list[Piece]]:
    """Times in both runs, ratio and interval of each phase, decimals below decimals."""
    old = align([_time(phase.baseline_seconds, unit) for phase in phases])
    new = align([_time(phase.candidate_seconds, unit) for phase in phases])
    ratios = align([show.ratio(phase.ratio) if phase.ratio else "" for phase in phases])
    for phase, *texts in zip(phases, old, new, ratios, strict=True):
        interval = show.interval(phase.ratio) if phase.ratio else ""
        yield [*map(Piece, texts), Piece(interval, "dim")]


def _time(time: float | None, unit: show.TimeUnit | None) -> str:
    return "" if time is None else show.seconds(time, unit=unit)


def _verdict(phase: PhaseComparison, reasons: Sequence[Reason]) -> list[Piece]:
    return [Piece(phase.kind, STYLES[phase.kind]), Piece(marks(wording.beside(phase), reasons), "yellow")]


def _closing(comparison: Comparison, reasons: Sequence[Reason], page: Page) -> list[Text]:
    parts: list[tuple[str, str]] = []
    for kind, number in wording.tally(comparison):
        parts += [("  ", "") if parts else ("", ""), (f"{number} {kind}", STYLES[kind])]
    notes = [line(*parts)]
    for text in numbered_reasons(reasons):
        notes += page.paragraph(text, style="yellow", hanging="  ")
    blocks = [
        notes,
        _differences(comparison, page),
        [text for said in wording.only_lines(comparison) for text in page.paragraph(said, hanging="  ")],
        _spread(comparison, page),
        page.facts(wording.footer_facts(comparison), style="dim"),
    ]
    return [text for block in blocks if block for text in (*block, Text())][:-1]


def _differences(comparison: Comparison, page: Page) -> list[Text]:
    lines: list[Text] = []
    for standing in (Standing.REFUSED, Standing.ALLOWED, Standing.NAMED):
        for said in wording.difference_lines(comparison, standing):
            text = f"{_WORDS[standing]}: {said}"
            lines += page.paragraph(text, style=_STYLES[standing], hanging="  ")
        if standing is Standing.REFUSED and (option := wording.to_allow(comparison)):
            lines += page.paragraph(f"→ {option}", indent="  ", hanging="    ")
    return lines


def _spread(comparison: Comparison, page: Page) -> list[Text]:
    lines = [text for said in wording.spread_lines(comparison) for text in page.paragraph(said, hanging="  ")]
    if remedy := wording.spread_remedy(comparison):
        lines += page.paragraph(f"→ {remedy}", indent="  ", hanging="    ")
    return lines
