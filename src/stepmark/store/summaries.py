"""Summaries in the store: derived rows, one set a run, replaced when the rules that made them change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from stepmark.records.estimate import Estimate
from stepmark.records.run import RunStatus
from stepmark.records.run_summary import CaseSummary, RunSummary
from stepmark.store.codec import FACTS, VERDICTS
from stepmark.store.head import is_readable
from stepmark.store.schema import case_summaries, conditions, histories, run_summaries, runs

Row = dict[str, Any]


def replace_summary(connection: Connection, summary: RunSummary) -> None:
    """In place of the one that is there, if any."""
    drop_summary(connection, summary.run)
    made_under = summary.conditions
    _insert_new(connection, conditions, [{"key": made_under.key, "facts": FACTS.encode(made_under.facts)}])
    row = {
        "run_id": summary.run,
        "version": summary.version,
        "conditions": made_under.key,
        "code": summary.code,
        "verdicts": VERDICTS.encode(summary.verdicts),
        "num_failed": summary.num_failed,
    }
    connection.execute(insert(run_summaries), row)
    if summary.cases:
        ids = _history_ids(connection, summary.cases)
        rows = [
            {"run_id": summary.run, "history_id": ids[case.case, case.phase]} | _case_row(case)
            for case in summary.cases
        ]
        connection.execute(insert(case_summaries), rows)


def drop_summary(connection: Connection, run_id: str) -> None:
    """A run that goes on is not what its summary says."""
    connection.execute(delete(case_summaries).where(case_summaries.c.run_id == run_id))
    connection.execute(delete(run_summaries).where(run_summaries.c.run_id == run_id))


def stale_runs(connection: Connection, *, version: int, limit: int) -> tuple[str, ...]:
    """Finished runs without a summary, or with one of older rules, the newest first."""
    query = (
        select(runs.c.id)
        .outerjoin(run_summaries)
        .where(runs.c.status != RunStatus.RUNNING, is_readable())
        .where(run_summaries.c.version.is_(None) | (run_summaries.c.version < version))
        .order_by(runs.c.started.desc(), runs.c.id.desc())
        .limit(limit)
    )
    return tuple(connection.scalars(query))


def _case_row(case: CaseSummary) -> Row:
    estimates = _estimate_row("level", case.level) | _estimate_row("ratio", case.ratio)
    return {"error": case.error, "verdict": case.verdict} | estimates


def _estimate_row(name: str, estimate: Estimate | None) -> Row:
    values: Sequence[Any] = (None,) * 6
    if estimate is not None:
        point, low, high = estimate.point, estimate.low, estimate.high
        values = (point, low, high, estimate.confidence, estimate.method, estimate.num_launches)
    endings = ("", "_low", "_high", "_confidence", "_method", "_launches")
    return {name + ending: value for ending, value in zip(endings, values, strict=True)}


def _history_ids(connection: Connection, cases: Sequence[CaseSummary]) -> dict[tuple[str, str], int]:
    """A number for every phase of every case, new ones included."""
    ordered = sorted(
        cases, key=lambda case: (case.case, case.phase)
    )  # two writers cannot lock each other out
    rows = [{"case_id": case.case, "phase": case.phase, "is_primary": case.primary} for case in ordered]
    _insert_new(connection, histories, rows)
    case_ids = list(dict.fromkeys(case.case for case in cases))
    ids: dict[tuple[str, str], int] = {}
    for begin in range(0, len(case_ids), 500):  # databases bound the length of a list
        query = select(histories).where(histories.c.case_id.in_(case_ids[begin : begin + 500]))
        ids |= {(row.case_id, row.phase): row.id for row in connection.execute(query)}
    return ids


def _insert_new(connection: Connection, table: Table, rows: list[Row]) -> None:
    """Those that are not there; another process may be adding the same."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)
