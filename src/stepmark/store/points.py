"""Points of histories: levels, ratios and verdicts of a case in all summarized runs, read without samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from stepmark.records.estimate import Estimate, Method
from stepmark.records.history import HistoryPoint
from stepmark.records.run_summary import RunLevel
from stepmark.records.verdict import VerdictKind
from stepmark.store.codec import FACTS
from stepmark.store.schema import case_summaries, conditions, histories, run_summaries, runs

_METHODS = {method.value: method for method in Method}
_KINDS = {kind.value: kind for kind in VerdictKind}


def load_points(
    connection: Connection, case_id: str, phase: str, *, machine: str | None = None
) -> tuple[HistoryPoint, ...]:
    """The oldest first."""
    of_run = (runs.c.id, runs.c.started, runs.c.commit_id, runs.c.dirty, runs.c.branch, runs.c.machine)
    made = [column for column in case_summaries.c if column.name.startswith(("level", "ratio"))]
    query = (
        select(*of_run, run_summaries.c.conditions, case_summaries.c.verdict, *made)
        .select_from(case_summaries)
        .join(run_summaries, run_summaries.c.run_id == case_summaries.c.run_id)
        .join(runs, runs.c.id == case_summaries.c.run_id)
        .join(histories, histories.c.id == case_summaries.c.history_id)
        .where(histories.c.case_id == case_id, histories.c.phase == phase)
        .order_by(runs.c.started, runs.c.id)
    )
    if machine is not None:
        query = query.where(runs.c.machine == machine)
    return tuple(_point(row) for row in connection.execute(query).all())


def load_phases(connection: Connection, case_id: str) -> tuple[str, ...]:
    """Phases that the case has a history of: the primary one first, the others by name."""
    query = select(histories).where(histories.c.case_id == case_id)
    found = sorted((not row.is_primary, row.phase) for row in connection.execute(query))
    return tuple(phase for _, phase in found)


def load_case_ids(connection: Connection, text: str, limit: int) -> tuple[str, ...]:
    """Cases with a history in whose id every word stands, in any case of letters; by name."""
    query = select(histories.c.case_id).distinct().order_by(histories.c.case_id).limit(limit)
    for word in text.split():
        query = query.where(histories.c.case_id.icontains(word, autoescape=True))
    return tuple(connection.scalars(query))


def load_facts(connection: Connection, keys: set[str]) -> dict[str, tuple[tuple[str, str], ...]]:
    """What runs under these conditions share, by key."""
    query = select(conditions.c.key, conditions.c.facts).where(conditions.c.key.in_(sorted(keys)))
    return {key: FACTS.decode(facts) for key, facts in connection.execute(query)}


def load_levels(connection: Connection, machine: str, *, num_runs: int) -> tuple[RunLevel, ...]:
    """Of primary phases, in the newest runs of a machine whose code is known."""
    newest = (
        select(run_summaries.c.run_id, run_summaries.c.code)
        .join(runs)
        .where(runs.c.machine == machine, run_summaries.c.code.is_not(None))
        .order_by(runs.c.started.desc(), runs.c.id.desc())
        .limit(num_runs)
        .subquery()
    )
    query = (
        select(newest.c.code, histories.c.case_id, newest.c.run_id, case_summaries.c.level)
        .add_columns(case_summaries.c.error)
        .join(case_summaries, case_summaries.c.run_id == newest.c.run_id)
        .join(histories)
        .where(histories.c.is_primary, case_summaries.c.level > 0.0)
        .where(case_summaries.c.level_launches > 1)
        .order_by(newest.c.run_id, histories.c.case_id)
    )
    return tuple(
        RunLevel(code=code, case=case_id, run=run_id, level=math.log(level), error=error)
        for code, case_id, run_id, level, error in connection.execute(query).all()
    )


def _point(row: Sequence[Any]) -> HistoryPoint:
    run, started, commit, dirty, branch, machine, under, verdict, *made = row
    return HistoryPoint(
        run=run,
        started=started,
        commit=commit,
        branch=branch,
        machine=machine,
        level=_estimate(made[:6]),
        ratio=None if made[6] is None else _estimate(made[6:]),
        verdict=None if verdict is None else _KINDS[verdict],
        dirty=bool(dirty),
        conditions=under,
    )


def _estimate(columns: list[Any]) -> Estimate:
    point, low, high, confidence, method, num_launches = columns
    return Estimate(
        point=point,
        low=low,
        high=high,
        confidence=confidence,
        method=_METHODS[method],
        num_launches=num_launches,
    )
