"""The report as Markdown, to paste into a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepmark.records.run import Judgement
from stepmark.report import format as show
from stepmark.report import wording
from stepmark.report.groups import FindingGroup
from stepmark.report.markdown_text import broken, code, plain, table
from stepmark.report.marks import mark
from stepmark.report.view import CellView, PhaseView, RowView, SuiteView, View, build_view

MAX_PHASE_COLUMNS = 6
"""More phases than this are listed in a table of their own."""


def render(judgement: Judgement) -> str:
    """Tables, then what the terminal shows below them."""
    view = build_view(judgement)
    blocks = [block for suite in view.suites for block in _suite(suite, view)]
    return "\n\n".join((*blocks, *_closing(view))) + "\n"


def _suite(suite: SuiteView, view: View) -> list[str]:
    if suite.is_sweep:
        context = wording.context(suite.cells[0], without=suite.varying)
        return [f"### {plain(suite.name)}", plain(context), _table(suite, suite.varying, (), view)]
    return [block for cell in suite.cells for block in _cell(cell, view)]


def _cell(cell: CellView, view: View) -> list[str]:
    alone = SuiteView(name=cell.cell.suite, cells=(cell,))
    head = [f"### {plain(wording.title(cell))}", plain(wording.context(cell))]
    if len(cell.phases) <= MAX_PHASE_COLUMNS:
        return [*head, _table(alone, (), cell.phases, view)]
    return [*head, _table(alone, (), (), view), _phase_list(cell)]


def _table(suite: SuiteView, keys: tuple[str, ...], phases: tuple[str, ...], view: View) -> str:
    """One row a variant: keys, time, ratio, verdict and phases."""
    rows = [(dict(cell.point), row) for cell in suite.cells for row in cell.rows]
    unit = show.shared_unit([row.primary.time.point for _, row in rows if row.primary])
    titles = (
        *keys,
        "variant",
        wording.time_heading(suite.primary, unit),
        "time / baseline",
        "verdict",
        "launches",
        *phases,
        *(name for name, _ in _others(rows, unit)),
    )
    others = [column for _, column in _others(rows, unit)]
    sides = "l" * len(keys) + "lrrlr" + "r" * (len(phases) + len(others))
    lines = (
        [
            *(plain(point.get(key, "")) for key in keys),
            *_row(row, phases, unit, view),
            *(column[place] for column in others),
        ]
        for place, (point, row) in enumerate(rows)
    )
    return table(titles, sides, lines)


def _others(
    rows: Sequence[tuple[dict[str, str], RowView]], unit: show.TimeUnit | None
) -> list[tuple[str, list[str]]]:
    """Columns of the host's time and of memory, on an accelerator, and of the limit, where any row has
    them."""
    columns = []
    if any(row.primary and row.primary.host is not None for _, row in rows):
        columns.append(("host", [_host(row.primary, unit) for _, row in rows]))
    if any(row.memory and point["device"] != "cpu" for point, row in rows):
        columns.append(("memory", [show.size(row.memory.peak) if row.memory else "" for _, row in rows]))
    if any(row.limit for _, row in rows):
        limits = [f"{show.limit(row.limit)} {row.limit.by}" if row.limit else "" for _, row in rows]
        columns.append(("of limit", limits))
    return columns


def _row(row: RowView, phases: tuple[str, ...], unit: show.TimeUnit | None, view: View) -> list[str]:
    time = _time(row.primary, unit) if row.primary else _instead(row)
    ratio = "baseline" if row.baseline else _ratio(row.primary) if row.primary else ""
    beside = (wording.marks(row.reasons, view.reasons), row.marks)
    verdict = " ".join(filter(None, (row.kind, *beside)))
    times = {p.name: show.seconds(p.time, unit=unit) + wording.waits(p) for p in row.phases}
    launches = wording.replications(row)
    return [code(row.variant), time, ratio, verdict, launches, *(times.get(name, "") for name in phases)]


def _phase_list(cell: CellView) -> str:
    """One row a phase, variant by variant."""
    unit = show.shared_unit([row.primary.time.point for row in cell.rows if row.primary])
    titles = ("variant", "phase", wording.time_heading(None, unit), "time / baseline", "verdict")
    lines = (
        [code(row.variant), code(phase.name), _time(phase, unit), _ratio(phase), phase.kind or ""]
        for row in cell.rows
        for phase in row.phases
    )
    return table(titles, "llrrl", lines)


def _time(phase: PhaseView, unit: show.TimeUnit | None) -> str:
    return f"{show.seconds(phase.time, unit=unit)}{show.NBSP}{show.plus_minus(phase.time)}"


def _host(phase: PhaseView | None, unit: show.TimeUnit | None) -> str:
    """How long the host took to ask for it, marked where the device waited for that."""
    if phase is None or phase.host is None:
        return ""
    return show.seconds(phase.host, unit=unit) + wording.waits(phase)


def _ratio(phase: PhaseView) -> str:
    return f"{show.ratio(phase.ratio)} {show.interval(phase.ratio)}" if phase.ratio else ""


def _instead(row: RowView) -> str:
    """What stands in the place of a time."""
    return wording.end(row.failure) if row.failure else "" if row.outcome else wording.NOT_REACHED


def _closing(view: View) -> list[str]:
    verdicts = ", ".join(f"{number} {kind}" for kind, number in view.verdicts)
    tally = (
        f"**{verdicts}**" if verdicts else "",
        wording.outcomes(view),
        wording.sight(view),
        wording.unfinished(view.footer),
    )
    labels = wording.case_labels(view)
    undecided = wording.undecided_lines(view, most=wording.SHOWN_PLACES)
    blocks = (
        broken((*filter(None, tally), *wording.numbered_reasons(view.reasons))),
        "\n".join(f"- {plain(line)}" for line in undecided),
        "\n".join(f"- {plain(wording.failure_group_line(group))}" for group in view.failures),
        "\n".join(_finding(group, labels) for group in view.findings),
        broken(f"<sub>{plain(' · '.join(facts))}</sub>" for facts in wording.footer_facts(view.footer)),
    )
    return [block for block in blocks if block]


def _finding(group: FindingGroup, labels: Mapping[str, str]) -> str:
    places = wording.places(group, labels)
    sign = mark(group.letter, group.severity, accepted=group.accepted)
    lines = [f"- {sign} {plain(wording.finding_line(group))}", *(f"  - {plain(place)}" for place in places)]
    return "\n".join(lines if group.accepted else (*lines, f"  - remedy: {plain(group.remedy)}"))
