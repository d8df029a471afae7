"""A run of the suite transformer, as the published table: seconds, mean and deviation, drawn by tabulate.

What stands for what is in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan, sqrt
from statistics import fmean, pvariance

from stepmark.errors import UsageError
from stepmark.interchange.grid import Row, Table, table_lines
from stepmark.records.case import Case
from stepmark.records.run import Judgement, Recording
from stepmark.records.sample import unpack
from stepmark.records.trial import LaneTrial, counting

SUITE = "transformer"
HEADERS = ("Experiment_name", "Forward time", "Forward std", "backward time", "backward std")
PHASES = ("forward", "backward")


def render(judgement: Judgement, recording: Recording) -> str:
    """A row a case, those without a time left out; `nan` stands for a backward pass that was not measured."""
    cases = [case.case for case in judgement.cases if case.case.cell.suite == SUITE and case.summaries]
    if not cases:
        raise UsageError(
            "the format grid shows cases of the suite transformer, and this run has measured none",
            remedy="stepmark run transformer --format grid",
        )
    rows: tuple[Row, ...] = tuple(_row(case, cases, recording) for case in cases)
    return "\n".join((*table_lines(Table(headers=HEADERS, rows=rows)), ""))


def _row(case: Case, cases: Sequence[Case], recording: Recording) -> Row:
    return (_name(case, cases), *_figures(case, recording))


def _name(case: Case, cases: Sequence[Case]) -> str:
    """The size, and what else is not the same in all rows."""
    parts = {name: str(value) for name, value in case.cell.axes if name != "size"}
    parts |= {"variant": case.variant, **{kind: str(getattr(case.cell, kind)) for kind in _KINDS}}
    varying = [text for name, text in parts.items() if len({_part(other, name) for other in cases}) > 1]
    return "/".join([str(dict(case.cell.axes)["size"]), *varying])


_KINDS = ("device", "dtype", "mode")


def _part(case: Case, name: str) -> str:
    axes = dict(case.cell.axes)
    if name in axes:
        return str(axes[name])
    return case.variant if name == "variant" else str(getattr(case.cell, name, ""))


def _figures(case: Case, recording: Recording) -> Iterator[float]:
    """Mean and deviation of both phases over launches, as numpy.std has it: divided by their number."""
    for phase in PHASES:
        means = [mean for lane in _lanes(case, recording) if (mean := _mean(lane, phase)) is not None]
        yield fmean(means) if means else nan
        yield sqrt(pvariance(means)) if means else nan


def _lanes(case: Case, recording: Recording) -> list[LaneTrial]:
    """Of the launches that verdicts come from: in company, separate where there are such."""
    launches = counting(each for each in recording.launches if each.cell == case.cell)
    return [lane for launch in launches for lane in launch.lanes if lane.variant == case.variant]


def _mean(lane: LaneTrial, phase: str) -> float | None:
    """Seconds of an iteration in one launch; None where it has none."""
    for sample in lane.samples:
        if sample.phase == phase and sample.num_blocks:
            return fmean(unpack(sample.nanoseconds)) / sample.iterations * 1e-9
    return None
