"""Heads: what a list of runs shows, without reading their trials."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from stepmark.records.record import Record
from stepmark.records.run import RunStatus
from stepmark.store.codec import NAMES
from stepmark.store.schema import launches, runs, solo_trials


class RunHead(Record, frozen=True, kw_only=True):
    """One line of `stepmark runs`."""

    id: str
    started: float
    finished: float | None
    status: RunStatus
    suites: tuple[str, ...]
    """Names."""
    num_cases: int
    """Planned."""
    num_solos: int
    """Solo trials stored so far, failed ones included."""
    num_launches: int
    """Launches stored so far, failed ones included."""
    command: tuple[str, ...]
    stepmark: str
    """Version that measured it."""


def load_heads(connection: Connection, limit: int | None) -> tuple[RunHead, ...]:
    """Newest first."""
    num_solos = select(func.count()).where(solo_trials.c.run_id == runs.c.id).scalar_subquery()
    num_launches = select(func.count()).where(launches.c.run_id == runs.c.id).scalar_subquery()
    query = (
        select(
            runs.c.id,
            runs.c.started,
            runs.c.finished,
            runs.c.status,
            runs.c.suites,
            runs.c.num_cases,
            runs.c.command,
            runs.c.stepmark,
            num_solos.label("num_solos"),
            num_launches.label("num_launches"),
        )
        .order_by(runs.c.started.desc(), runs.c.id.desc())
        .limit(limit)
    )
    return tuple(
        RunHead(
            id=row.id,
            started=row.started,
            finished=row.finished,
            status=msgspec.convert(row.status, RunStatus),
            suites=NAMES.decode(row.suites),
            num_cases=row.num_cases,
            num_solos=row.num_solos,
            num_launches=row.num_launches,
            command=NAMES.decode(row.command),
            stepmark=row.stepmark,
        )
        for row in connection.execute(query)
    )


def load_ids(connection: Connection) -> tuple[str, ...]:
    """Newest first."""
    return tuple(connection.scalars(select(runs.c.id).order_by(runs.c.started.desc(), runs.c.id.desc())))
