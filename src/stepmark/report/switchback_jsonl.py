"""A run of the suite switchback, as the rows of SwitchBack's info.jsonl: 25 keys, milliseconds.

What stands for what is in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepmark.errors import UsageError
from stepmark.interchange.lines import Text
from stepmark.interchange.switchback_jsonl import (
    OPERATIONS,
    TOTALS,
    Row,
    SwitchbackLines,
)
from stepmark.interchange.switchback_jsonl import (
    render as render_document,
)
from stepmark.records.case import Cell, Mode
from stepmark.records.run import CaseJudgement, Judgement, Recording

SUITE = "switchback"
VARIANTS = ("standard", "rowwise", "global", "casts")
"""An operation that several of them have is taken from the first."""


def render(judgement: Judgement, recording: Recording) -> str:  # noqa: ARG001
    """A row a cell; an operation that was not measured is null, and so is a total that needs it."""
    cells: dict[Cell, dict[str, CaseJudgement]] = {}
    for case in judgement.cases:
        cell = case.case.cell
        if cell.suite == SUITE and cell.mode is Mode.OPS and not cell.regime:
            cells.setdefault(cell, {})[case.case.variant] = case
    if not cells:
        raise UsageError(
            "the format switchback-jsonl shows operations of the suite switchback, and this run has none",
            remedy="stepmark run switchback --format switchback-jsonl",
        )
    rows = [_row(cell, variants) for cell, variants in cells.items()]
    return render_document(SwitchbackLines(parts=(*rows, Text(lines=("",)))))


def _row(cell: Cell, variants: Mapping[str, CaseJudgement]) -> Row:
    axes = dict(cell.axes)
    dim, wm, switch = int(axes["dim"]), axes["wm"], bool(axes["switch"])
    assert isinstance(wm, int | float)
    wide = round(dim * wm)
    times = {key: _milliseconds(key, variants) for key in OPERATIONS}
    totals = {total: _sum([times[part] for part in parts]) for total, parts in TOTALS.items()}
    return Row(
        repeat=_repeat(variants),
        batch_size=int(axes["rows"]),
        dim_out=dim if switch else wide,
        dim_in=wide if switch else dim,
        wm=wm,
        switch=switch,
        **times,
        **totals,
    )


def _repeat(variants: Mapping[str, CaseJudgement]) -> int:
    """Blocks behind each number: the least of those shown."""
    blocks = [summary.num_blocks for case in variants.values() for summary in case.summaries]
    return min(blocks, default=0)


def _milliseconds(key: str, variants: Mapping[str, CaseJudgement]) -> float | None:
    for name in VARIANTS:
        summary = variants[name].summary(key) if name in variants else None
        if summary is not None:
            return 1e3 * summary.mean.point
    return None


def _sum(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
