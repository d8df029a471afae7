"""Phrases that more than one format uses, so that a run reads the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stepmark.records.case import Cache, Case, Execution
from stepmark.records.estimate import Bound, Method
from stepmark.records.finding import Severity
from stepmark.records.outcome import Failure
from stepmark.records.run import RunStatus
from stepmark.records.settings import Isolation
from stepmark.records.verdict import Reason
from stepmark.report import format as show
from stepmark.report.footer import Footer
from stepmark.report.groups import FailureGroup, FindingGroup
from stepmark.report.view import CellView, PhaseView, RowView, Undecided, View

NOT_REACHED = "not reached"
WAITS = "ʰ"
LONGEST_MESSAGE = 400
"""Five lines of a terminal."""
SHOWN_PLACES = 3
"""Cases named under a finding, unless everything is asked for."""
_UNFINISHED = {
    RunStatus.INTERRUPTED: "interrupted: what was measured until then is shown",
    RunStatus.RUNNING: "not finished: the run is still going on, or was cut off",
}
_ISOLATIONS = {
    Isolation.SHARED: "shared process",
    Isolation.SEPARATE: "separate processes",
    Isolation.ALONE: "one after another",
}
EXPLAIN = "stepmark explain NAME tells what a finding rests on, and how to mend it"


def time_heading(name: str | None, unit: show.TimeUnit | None) -> str:
    """`step, ms`."""
    return f"{name or 'time'}, {unit.name}" if unit else name or "time"


def title(cell: CellView) -> str:
    """`mylayer  features=512  tokens=64`."""
    return "  ".join((cell.cell.suite, *(f"{name}={value}" for name, value in cell.cell.axes)))


def context(cell: CellView, *, without: Sequence[str] = ()) -> str:
    """`cpu · float32 · train · 1 thread`; device, dtype, mode and regime need no name before their value, and
    what is usual, eager and warm, is not said."""
    where = cell.cell
    parts = {"device": where.device, "dtype": where.dtype, "mode": where.mode.value}
    usual = {Execution.EAGER.value, Cache.WARM.value}
    regime = {"execution": where.execution.value, "cache": where.cache.value}
    parts |= {name: text for name, text in regime.items() if text not in usual}
    kept = (text for name, text in parts.items() if name not in without)
    return " · ".join((*kept, show.plural(cell.threads, "thread")))


def end(failure: Failure | FailureGroup) -> str:
    """`out-of-memory in build`."""
    return f"{failure.outcome} in {failure.stage}"


def printed(failure: Failure) -> str:
    """What the worker wrote besides the traceback: that of a dying process is found in its output."""
    trace = failure.traceback.strip()
    return failure.output.replace(trace, "").strip("\n") if trace else failure.output


def failure_line(failure: Failure | FailureGroup) -> str:
    """`out-of-memory in build: tried to allocate 12 GiB`."""
    return f"{end(failure)}: {shortened(failure.message)}"


def shortened(message: str) -> str:
    """What an exception says, as far as a table has room: torch's may go on for pages."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    return f"{message[:LONGEST_MESSAGE].rstrip()} ... (the rest: stepmark show --failures)"


def failure_group_line(group: FailureGroup) -> str:
    """`mine, 2 cases: out-of-memory in build: tried to allocate 12 GiB`."""
    return f"{group.variant}, {show.plural(len(group.cases), 'case')}: {failure_line(group)}"


def finding_line(group: FindingGroup) -> str:
    """`few-launches in 3 cases: too few launches for an interval worth reading`."""
    where = f" in {show.plural(len(group.places), 'case')}" if len(group.places) > 1 else ""
    told = ", accepted" if group.accepted else ""
    return f"{group.name}{where}{told}" + (f": {group.meaning}" if group.meaning else "")


def case_labels(view: View) -> dict[str, str]:
    """By case id, what sets a case apart from the others of the run: `mine[tokens=64]`."""
    labels = {}
    for suite in view.suites:
        varying = suite.varying
        before = f"{suite.name}/" if len(view.suites) > 1 else ""
        for cell in suite.cells:
            point = ",".join(f"{name}={value}" for name, value in cell.point if name in varying)
            for row in cell.rows:
                case = Case(variant=row.variant, cell=cell.cell)
                labels[case.id] = f"{before}{row.variant}" + (f"[{point}]" if point else "")
    return labels


def places(group: FindingGroup, labels: Mapping[str, str], *, full: bool = False) -> list[str]:
    """What was found where, or everywhere; the first cases alone unless all are asked for, of a note one. A
    letter beside the verdicts says where, and a note has none."""
    messages = {message for _, message in group.places}
    if len(messages) == 1 and (group.letter or len(group.places) == len(labels)):
        return [*messages]
    most = None if full else 1 if group.severity is Severity.NOTE else SHOWN_PLACES
    lines = [f"{labels.get(case, case)}: {message}" for case, message in group.places[:most]]
    left = len(group.places) - len(lines)
    return [*lines, f"and {left} more"] if left else lines


def unfinished(footer: Footer) -> str | None:
    """A warning where the run did not come to its end."""
    return _UNFINISHED.get(footer.status)


def marks(reasons: Iterable[Reason], numbered: Sequence[Reason]) -> str:
    """The numbers of a verdict's reasons: `¹³`."""
    return "".join(show.superscript(numbered.index(reason) + 1) for reason in reasons)


def numbered_reasons(reasons: Sequence[Reason]) -> list[str]:
    """`¹ the interval crosses the margin`."""
    return [f"{show.superscript(number)} {reason}" for number, reason in enumerate(reasons, 1)]


def outcomes(view: View) -> str:
    """`10 cases: 8 measured, 1 crashed, 1 not reached`."""
    ends = [f"{number} {outcome or NOT_REACHED}" for outcome, number in view.outcomes]
    budget = view.footer.budget
    if budget is not None and view.footer.status is RunStatus.COMPLETE and None in dict(view.outcomes):
        ends[-1] += f" before the budget of {show.duration(budget)} was over"
    return f"{show.plural(sum(number for _, number in view.outcomes), 'case')}: {', '.join(ends)}"


def replications(row: RowView) -> str:
    """`28 × 68`: launches and rounds."""
    return f"{row.launches} × {row.rounds}" if row.launches else ""


def cell_facts(cell: CellView) -> tuple[str, ...]:
    """How often the cell was measured, what it could have seen, and where its spread lives."""
    measured = [row for row in cell.rows if row.launches]
    if not measured:
        return ()
    launches = [row.launches for row in measured]
    rounds = [row.rounds for row in measured]
    facts = [
        f"{show.span(min(launches), max(launches), 'launch')} × "
        f"{show.span(min(rounds), max(rounds), 'round')}"
    ]
    confirming = max(row.confirming for row in measured)
    if confirming:
        facts.append(f"{confirming} more to confirm")
    seen = [f"{row.variant} {show.effect(row.power.detectable)}" for row in measured if row.power]
    if seen:
        facts.append(f"would see {', '.join(seen)}")
    waiting = _waiting(measured)
    if waiting:
        facts.append(waiting)
    levels = {row.dominant for row in measured if row.dominant}
    if levels:
        facts.append(f"spread from {' and '.join(sorted(levels))}")
    return tuple(facts)


def waits(phase: PhaseView | None) -> str:
    """The mark of a phase in which the device waited for the host."""
    return WAITS if phase and phase.bound is Bound.HOST else ""


def _waiting(rows: Sequence[RowView]) -> str:
    """`ʰ waits for the host: forward, loss of dense; all of mine`; nothing where the host does the work."""
    told: dict[str, list[str]] = {}
    for row in rows:
        phases = [phase for phase in (row.primary, *row.phases) if phase and phase.bound]
        names = [phase.name for phase in phases if phase.bound is Bound.HOST]
        if names:
            which = "all" if len(names) == len(phases) else ", ".join(names)
            told.setdefault(which, []).append(row.variant)
    if not told:
        return "" if not any(row.primary and row.primary.bound for row in rows) else "bound by the device"
    listed = (f"{which} of {', '.join(variants)}" for which, variants in told.items())
    return f"{WAITS} waits for the host: {'; '.join(listed)}"


def undecided_lines(view: View, *, most: int | None) -> list[str]:
    """What each INCONCLUSIVE verdict would take; beyond `most` the others are counted."""
    labels = case_labels(view)
    lines = [f"{labels[each.case]}: {_price(each)}" for each in view.undecided[:most]]
    left = len(view.undecided) - len(lines)
    return [*lines, f"and {left} more"] if left else lines


def _price(each: Undecided) -> str:
    if each.needed is None:
        return "the ratio sits on the edge of the margin; only another margin would decide"
    took = f" ({show.duration(each.seconds)})" if each.seconds else ""
    return f"about {show.plural(each.needed, 'launch')}{took} would decide"


def sight(view: View) -> str | None:
    """What the run could have seen."""
    if view.detectable is None:
        return None
    least, most = (show.effect(each) for each in view.detectable)
    reach = least if least == most else f"{least} to {most}"
    return f"a slowdown of {reach} would be called SLOWER 4 times in 5"


def measuring(footer: Footer) -> str:
    """`1 min 32 s of measuring`."""
    return f"{show.duration(footer.seconds)} of measuring".replace(" ", show.NBSP)


def footer_facts(footer: Footer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How the run was made, and which run it was."""
    made = "nothing measured"
    if footer.rounds:
        made = f"{show.span(*footer.launches, 'launch')} × {show.span(*footer.rounds, 'round')}"
    over = "launches" if footer.method is Method.T_LAUNCHES else "the blocks of one launch"
    how = (
        made,
        _ISOLATIONS[footer.isolation],
        f"margin {show.percent(footer.margin)}",
        f"{show.percent(footer.confidence)} intervals over {over}",
        f"seed {footer.seed}",
    )
    took = (measuring(footer),) if footer.seconds else ()
    versions = (f"torch {footer.torch}", f"stepmark {footer.stepmark}")
    which = (f"run {footer.run}", footer.status.value, *took, footer.cpu, *footer.devices, *versions)
    return how, which
