"""The judgement as CSV: one row per case and phase, raw numbers, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from stepmark.records.case import Cell
from stepmark.records.estimate import Estimate, Summary
from stepmark.records.finding import Finding
from stepmark.records.limit import Limit
from stepmark.records.memory import MemoryUse
from stepmark.records.run import CaseJudgement, Judgement
from stepmark.records.verdict import Verdict
from stepmark.report.csv_text import Value, as_cell

FRONT = ("run", "case", "suite", "variant", "baseline")
"""Before the axes, each of which is a column."""
BACK = (
    *("device", "dtype", "mode", "execution", "cache", "phase", "primary", "outcome"),
    *("median_seconds", "median_low", "median_high", "mean_seconds", "mean_low", "mean_high"),
    *("minimum_seconds", "spread_within", "spread_between", "outliers"),
    *("host_seconds", "lag_seconds", "bound"),
    *("ratio", "ratio_low", "ratio_high", "verdict", "reasons"),
    *("p_value", "detectable", "needed_launches", "stopped_early", "look_share"),
    *("launches", "rounds", "blocks", "confidence", "interval", "parameters"),
    *("limit_share", "limit_by", "limit_at_least", "flops_per_second", "bytes_per_second"),
    *("peak_bytes", "reserved_bytes", "saved_bytes", "optimizer_state_bytes", "graph_pool_bytes"),
    *("failure_cause", "failure_stage", "failure_message", "findings"),
)


def render(judgement: Judgement) -> str:
    """A heading and the rows; what is not known is left empty."""
    names = dict.fromkeys(name for case in judgement.cases for name, _ in case.case.cell.axes)
    file = io.StringIO()
    columns = (*FRONT, *map(_axis_column, names), *BACK)
    writer = csv.DictWriter(file, fieldnames=columns, lineterminator="\n")
    writer.writerow({name: as_cell(name) for name in columns})
    findings: dict[str, list[str]] = {}
    for finding in judgement.findings:
        findings.setdefault(finding.case, []).append(_finding_text(finding))
    for case in judgement.cases:
        found = "; ".join(findings.get(case.case.id, ()))
        head = {"run": judgement.run.id, **_case_columns(case), "findings": found}
        rows = (head | row for row in _rows(case))
        writer.writerows({name: as_cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _rows(case: CaseJudgement) -> Iterator[dict[str, Value]]:
    """One row a phase; a single one where nothing was measured."""
    verdicts = {verdict.phase: verdict for verdict in case.verdicts}
    for phase in case.phases:
        summary, verdict = case.summary(phase), verdicts.get(phase)
        yield {
            "phase": phase,
            "primary": phase == case.primary,
            **(_summary_columns(summary) if summary else {}),
            **(_verdict_columns(verdict) if verdict else {}),
            **(_limit_columns(case.limit) if case.limit and phase == case.primary else {}),
            **(_memory_columns(case.memory, phase, primary=phase == case.primary) if case.memory else {}),
        }
    if not case.phases:
        yield _verdict_columns(case.verdict) if case.verdict else {}


def _case_columns(case: CaseJudgement) -> dict[str, Value]:
    cell, failure = case.case.cell, case.failure
    return {
        "case": case.case.id,
        "suite": cell.suite,
        "variant": case.case.variant,
        "baseline": case.baseline,
        **_axis_values(cell),
        "device": cell.device,
        "dtype": cell.dtype,
        "mode": cell.mode.value,
        "execution": cell.execution.value,
        "cache": cell.cache.value,
        "outcome": case.outcome.value if case.outcome else None,
        "launches": case.num_launches,
        "rounds": case.num_rounds,
        "parameters": case.parameters,
        "failure_cause": failure.cause.value if failure else None,
        "failure_stage": failure.stage.value if failure else None,
        "failure_message": failure.message if failure else None,
    }


def _finding_text(finding: Finding) -> str:
    """`few-launches (warning, accepted, launches=2.0)`."""
    numbers = (f"{name}={value}" for name, value in finding.numbers)
    accepted = ("accepted",) if finding.accepted else ()
    return f"{finding.name} ({', '.join((finding.severity, *accepted, *numbers))})"


def _axis_values(cell: Cell) -> dict[str, Value]:
    return {_axis_column(name): value for name, value in cell.axes}


def _axis_column(name: str) -> str:
    """An axis keeps its name unless a column of every file has it."""
    return f"axis_{name}" if name in {*FRONT, *BACK} else name


def _summary_columns(summary: Summary) -> dict[str, Value]:
    return {
        **_estimate_columns("median", summary.median, point="median_seconds"),
        **_estimate_columns("mean", summary.mean, point="mean_seconds"),
        "minimum_seconds": summary.minimum,
        "spread_within": summary.spread_within,
        "spread_between": summary.spread_between,
        "outliers": summary.outliers.total,
        "host_seconds": summary.host_seconds,
        "lag_seconds": summary.lag_seconds,
        "bound": summary.bound.value if summary.bound else None,
        "blocks": summary.num_blocks,
        "confidence": summary.median.confidence,
        "interval": summary.median.method.value,
    }


def _verdict_columns(verdict: Verdict) -> dict[str, Value]:
    ratio = _estimate_columns("ratio", verdict.ratio, point="ratio") if verdict.ratio else {}
    return {
        **ratio,
        "verdict": verdict.kind.value,
        "reasons": "; ".join(verdict.reasons),
        "p_value": verdict.p_value,
        "detectable": verdict.power.detectable if verdict.power else None,
        "needed_launches": verdict.power.needed if verdict.power else None,
        "stopped_early": verdict.look.early if verdict.look else None,
        "look_share": verdict.look.share if verdict.look else None,
    }


def _limit_columns(limit: Limit) -> dict[str, Value]:
    """Beside the primary phase, which they are about."""
    return {
        "limit_share": limit.share,
        "limit_by": limit.by,
        "limit_at_least": limit.at_least,
        "flops_per_second": limit.flops_per_second,
        "bytes_per_second": limit.bytes_per_second,
    }


def _memory_columns(memory: MemoryUse, phase: str, *, primary: bool) -> dict[str, Value]:
    """A phase's own memory; beside the primary phase that of the whole case."""
    own = next((each for each in memory.phases if each.phase == phase), None)
    columns: dict[str, Value] = {}
    if own is not None:
        columns = {"peak_bytes": own.peak, "reserved_bytes": own.reserved, "saved_bytes": own.saved}
    if not primary:
        return columns
    device = memory.device
    return {
        "peak_bytes": memory.above_start,
        "saved_bytes": memory.saved,
        **columns,
        "optimizer_state_bytes": memory.optimizer_state,
        "graph_pool_bytes": device.graph_pools if device else None,
    }


def _estimate_columns(name: str, estimate: Estimate, *, point: str) -> dict[str, Value]:
    return {point: estimate.point, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
