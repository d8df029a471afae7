"""Heads: what a list of runs shows, without reading their trials or their records."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from stepmark.records.record import Record
from stepmark.records.run import FORMAT, RunStatus
from stepmark.records.verdict import VerdictKind
from stepmark.store.codec import NAMES, VERDICTS
from stepmark.store.schema import launches, run_summaries, runs, solo_trials

_NEWEST_FIRST = (runs.c.started.desc(), runs.c.id.desc())


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
    machine: str = ""
    """Host name."""
    commit: str | None = None
    """Of the bench file's repository."""
    dirty: bool = False
    """Whether files differed from the commit."""
    branch: str | None = None
    verdicts: tuple[tuple[VerdictKind, int], ...] | None = None
    """How many cases have which verdict on their primary phase; None where the run is not summarized yet."""
    num_failed: int | None = None
    """Cases that ended otherwise than measured; None likewise."""


def load_heads(
    connection: Connection,
    limit: int | None,
    *,
    where: Iterable[ColumnElement[bool]] = (),
    offset: int | None = None,
) -> tuple[RunHead, ...]:
    """Newest first. Trials are counted for the page alone, not for the runs before it."""
    page = select(runs.c.id).where(*where).order_by(*_NEWEST_FIRST).limit(limit).offset(offset)
    query = _heads().where(runs.c.id.in_(page)).order_by(*_NEWEST_FIRST)
    return tuple(_head(row) for row in connection.execute(query))


def load_head(connection: Connection, run_id: str) -> RunHead | None:
    """None where there is no such run."""
    return next(iter(load_heads(connection, 1, where=[runs.c.id == run_id])), None)


def is_readable() -> ColumnElement[bool]:
    """Of runs that this stepmark can read."""
    return runs.c.format <= FORMAT


def count_heads(connection: Connection, where: Iterable[ColumnElement[bool]]) -> int:
    """How many runs fit."""
    return connection.execute(select(func.count()).select_from(runs).where(*where)).scalar_one()


def load_ids(connection: Connection) -> tuple[str, ...]:
    """Newest first."""
    return tuple(connection.scalars(select(runs.c.id).order_by(*_NEWEST_FIRST)))


def _heads() -> Select[tuple[object, ...]]:
    num_solos = select(func.count()).where(solo_trials.c.run_id == runs.c.id).scalar_subquery()
    num_launches = select(func.count()).where(launches.c.run_id == runs.c.id).scalar_subquery()
    return select(
        runs,
        run_summaries.c.verdicts,
        run_summaries.c.num_failed,
        num_solos.label("num_solos"),
        num_launches.label("num_launches"),
    ).outerjoin(run_summaries)


def _head(row: Row[tuple[object, ...]]) -> RunHead:
    return RunHead(
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
        machine=row.machine,
        commit=row.commit_id,
        dirty=bool(row.dirty),
        branch=row.branch,
        verdicts=None if row.verdicts is None else _in_order(VERDICTS.decode(row.verdicts)),
        num_failed=row.num_failed,
    )


def _in_order(verdicts: tuple[tuple[VerdictKind, int], ...]) -> tuple[tuple[VerdictKind, int], ...]:
    """As everywhere else: stored, they are sorted by name."""
    order = list(VerdictKind)
    return tuple(sorted(verdicts, key=lambda each: order.index(each[0])))
