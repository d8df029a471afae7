"""Ours beside theirs: each measured case with the published row it repeats, and why the times differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stepmark.published.catalogue import PUBLICATIONS
from stepmark.published.cell import PublishedCell
from stepmark.published.cells import cells
from stepmark.published.transformer import WARM
from stepmark.records.case import Case
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Judgement

TOTALS = {"time_standard": "standard", "time_rowwise": "rowwise", "time_global": "global"}
"""A published total is the primary sum of one of our variants."""
IN_THE_CLOCK = {
    "fragmented": "theirs: the loss's kernels end inside the backward clock; ours: the loss is a phase of "
    "its own, and backward+optimizer is the sum of two phases",
    "switchback": "theirs: 64 calls back to back, so that launches overlap; ours: blocks of calls, the "
    "device idle before and after each",
    "transformer": "theirs: the forward clock holds the making of random tokens, the backward clock holds "
    "the loss, and the model was compiled; ours: neither, and the variant says whether it was compiled",
    "lora": "theirs: no wait for the device, a shader compiled in every call, and a backward pass that "
    "computes nothing; ours: the whole of the work, done when the clock stops",
}
"""By publication, without the number of the file."""
DTYPES = {"fragmented": "float32", "switchback": "float16", "transformer": "float32", "lora": "float32"}


class BesideRow(Record, frozen=True, kw_only=True):
    """One phase of one case."""

    case: Case
    publication: str
    row: str
    """What the published file calls it."""
    phase: str
    ours: float
    """Seconds, the median."""
    theirs: float

    @property
    def ratio(self) -> float:
        """Our time over theirs: below 1 ours is shorter."""
        return self.ours / self.theirs


class Beside(Record, frozen=True, kw_only=True):
    """A run held against what was published."""

    rows: tuple[BesideRow, ...]
    reasons: tuple[str, ...]
    """Why absolute times differ, a sentence each."""


def beside(judgement: Judgement) -> Beside:
    """Every phase that was published and measured; empty where the run repeats nothing published."""
    published = [cell for cell in cells() if cell.table in ("", WARM)]
    rows = tuple(row for case in judgement.cases for row in _rows(case, published))
    return Beside(rows=rows, reasons=tuple(_reasons(judgement, rows)))


def counterpart(case: Case, published: Iterable[PublishedCell]) -> PublishedCell | None:
    """The published row that a case repeats."""
    axes = dict(case.cell.axes)
    for cell in published:
        if (
            cell.suite == case.cell.suite
            and cell.mode is case.cell.mode
            and not case.cell.regime
            and cell.variant in (None, case.variant)
            and all(axes.get(name) == value for name, value in cell.axes)
        ):
            return cell
    return None


def _rows(judged: CaseJudgement, published: list[PublishedCell]) -> Iterator[BesideRow]:
    cell = counterpart(judged.case, published)
    if cell is None:
        return
    for phase, theirs in cell.seconds:
        ours = _ours(judged, phase)
        if ours is not None:
            yield BesideRow(
                case=judged.case,
                publication=cell.publication,
                row=cell.row,
                phase=phase,
                ours=ours,
                theirs=theirs,
            )


def _ours(judged: CaseJudgement, phase: str) -> float | None:
    """The median of a phase, of a sum of phases, or of what stands for a published total."""
    if TOTALS.get(phase) == judged.case.variant and judged.primary is not None:
        phase = judged.primary
    summaries = [judged.summary(part) for part in phase.split("+")]
    points = [summary.median.point for summary in summaries if summary is not None]
    return sum(points) if len(points) == len(summaries) else None


def _reasons(judgement: Judgement, rows: tuple[BesideRow, ...]) -> Iterator[str]:
    """One about devices and one about clocks for each publication, one about types where they differ."""
    for name in dict.fromkeys(row.publication for row in rows):
        about = name.partition("-")[0]
        cases = [row.case for row in rows if row.publication == name]
        devices = ", ".join(sorted({_device(judgement, case) for case in cases}))
        yield f"device: theirs was {PUBLICATIONS[name].hardware}; ours is {devices}"
        dtypes = sorted({case.cell.dtype for case in cases} - {DTYPES[about]})
        if dtypes:
            yield f"dtype: theirs was {DTYPES[about]}; ours is {', '.join(dtypes)}"
        yield f"clock: {IN_THE_CLOCK[about]}"


def _device(judgement: Judgement, case: Case) -> str:
    """What it is called, where it is known."""
    environment = judgement.run.environment
    if case.cell.device.startswith("cpu"):
        threads = judgement.run.settings.threads
        used = "all threads" if threads is None else f"{threads} thread{'s' if threads > 1 else ''}"
        return f"{environment.host.cpu_model} ({used})"
    named = environment.torch.devices
    return named[0] if named else case.cell.device
