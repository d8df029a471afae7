"""A comparison as Markdown, to paste into a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from stepmark.records.case import Cell
from stepmark.records.comparison import CaseComparison, Comparison, PhaseComparison, Standing
from stepmark.records.verdict import Reason
from stepmark.report import comparison_wording as wording
from stepmark.report import format as show
from stepmark.report.markdown_text import broken, code, plain, table
from stepmark.report.wording import marks, numbered_reasons, time_heading


def render(comparison: Comparison, *, phases: bool = False, zone: tzinfo | None = None) -> str:
    """Tables, then what the terminal shows below them."""
    reasons = wording.numbered(comparison, phases=phases)
    blocks = [f"**{plain(wording.UNPAIRED)}**", _sides(comparison, zone)]
    for suite, cells in wording.by_suite(comparison).items():
        blocks.append(f"### {plain(suite)}")
        rows = [(cell, case) for cell, cases in cells.items() for case in cases]
        blocks.append(_table(rows, reasons, phases=phases))
    return "\n\n".join((*blocks, *_closing(comparison, reasons))) + "\n"


def _sides(comparison: Comparison, zone: tzinfo | None) -> str:
    sides = wording.sides(comparison, zone=zone)
    return broken(f"{side.letter}: {code(side.id)} {plain(side.about)}" for side in sides)


def _table(rows: Sequence[tuple[Cell, CaseComparison]], reasons: Sequence[Reason], *, phases: bool) -> str:
    shown = [
        (cell, case, phase) for cell, case in rows for phase in wording.shown_phases(case, phases=phases)
    ]
    times = [time for *_, phase in shown for time in (phase.baseline_seconds, phase.candidate_seconds)]
    unit = show.shared_unit([time for time in times if time is not None])
    titles = (
        *("cell", "variant", "phase"),
        *(time_heading(letter, unit) for letter in (wording.BASELINE, wording.CANDIDATE)),
        *(f"{wording.CANDIDATE} / {wording.BASELINE}", "verdict"),
    )
    lines = (
        [
            plain(wording.cell_title(cell)),
            code(case.case.variant),
            code(phase.phase) if phase.phase else "",
            *_numbers(phase, unit),
            " ".join(filter(None, (phase.kind, marks(wording.beside(phase), reasons)))),
        ]
        for cell, case, phase in shown
    )
    return table(titles, "lllrrrl", lines)


def _numbers(phase: PhaseComparison, unit: show.TimeUnit | None) -> list[str]:
    times = (phase.baseline_seconds, phase.candidate_seconds)
    ratio = f"{show.ratio(phase.ratio)} {show.interval(phase.ratio)}" if phase.ratio else ""
    return [*("" if time is None else show.seconds(time, unit=unit) for time in times), ratio]


def _closing(comparison: Comparison, reasons: Sequence[Reason]) -> list[str]:
    verdicts = ", ".join(f"{number} {kind}" for kind, number in wording.tally(comparison))
    said = [
        *(f"refused: {text}" for text in wording.difference_lines(comparison, Standing.REFUSED)),
        *filter(None, (wording.to_allow(comparison),)),
        *(f"allowed: {text}" for text in wording.difference_lines(comparison, Standing.ALLOWED)),
        *(f"differs: {text}" for text in wording.difference_lines(comparison, Standing.NAMED)),
        *wording.only_lines(comparison),
        *wording.spread_lines(comparison),
        *filter(None, (wording.spread_remedy(comparison),)),
    ]
    blocks = (
        broken((f"**{verdicts}**", *numbered_reasons(reasons))),
        "\n".join(f"- {plain(text)}" for text in said),
        f"<sub>{plain(' · '.join(wording.footer_facts(comparison)))}</sub>",
    )
    return [block for block in blocks if block]
