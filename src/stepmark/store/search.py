"""Searching runs: by words, suite, machine, branch, date and status, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from sqlalchemy import ColumnElement, Connection, func, select

from stepmark.records.record import Record
from stepmark.records.run import RunStatus
from stepmark.records.run_summary import KnownMachine
from stepmark.store.head import RunHead, count_heads, load_heads
from stepmark.store.schema import run_suites, runs


class RunQuery(Record, frozen=True, kw_only=True):
    """What the runs that are looked for have in common; None where anything will do."""

    text: str | None = None
    """Words that each stand in id, suites, command, machine, branch or commit; capitals do not matter."""
    suite: str | None = None
    machine: str | None = None
    branch: str | None = None
    since: float | None = None
    """Started then or later, in seconds since the epoch."""
    until: float | None = None
    """Started before."""
    status: RunStatus | None = None


class RunPage(Record, frozen=True, kw_only=True):
    """Some of the runs that fit, the newest first."""

    heads: tuple[RunHead, ...]
    total: int
    """How many fit, on this page or another."""


def search_runs(connection: Connection, query: RunQuery, *, limit: int | None, offset: int) -> RunPage:
    """One page, and how many there are in all."""
    where = tuple(_conditions(query))
    return RunPage(
        heads=load_heads(connection, limit, where=where, offset=offset),
        total=count_heads(connection, where),
    )


def load_suites(connection: Connection) -> tuple[tuple[str, int], ...]:
    """Names, with how many runs have each."""
    query = select(run_suites.c.suite, func.count()).group_by(run_suites.c.suite).order_by(run_suites.c.suite)
    return tuple((name, num) for name, num in connection.execute(query))


def load_branches(connection: Connection) -> tuple[tuple[str, int], ...]:
    """Names, with how many runs are of each; runs outside a branch are in none."""
    query = (
        select(runs.c.branch, func.count())
        .where(runs.c.branch.is_not(None))
        .group_by(runs.c.branch)
        .order_by(runs.c.branch)
    )
    return tuple((name, num) for name, num in connection.execute(query))


def load_machines(connection: Connection) -> tuple[KnownMachine, ...]:
    """The one with the newest run first."""
    last = func.max(runs.c.started)
    query = (
        select(runs.c.machine, func.count(), func.min(runs.c.started), last)
        .group_by(runs.c.machine)
        .order_by(last.desc(), runs.c.machine)
    )
    return tuple(
        KnownMachine(name=name, num_runs=num, first=first, last=last)
        for name, num, first, last in connection.execute(query)
    )


def _conditions(query: RunQuery) -> Iterator[ColumnElement[bool]]:
    for word in (query.text or "").split():
        yield _mentions(word)
    if query.suite is not None:
        yield runs.c.id.in_(select(run_suites.c.run_id).where(run_suites.c.suite == query.suite))
    for column, value in (
        (runs.c.machine, query.machine),
        (runs.c.branch, query.branch),
        (runs.c.status, query.status),
    ):
        if value is not None:
            yield column == value
    if query.since is not None:
        yield runs.c.started >= query.since
    if query.until is not None:
        yield runs.c.started < query.until


def _mentions(word: str) -> ColumnElement[bool]:
    """Lists are kept as JSON, in which a quote is written as two letters."""
    spelled = msgspec.json.encode(word).decode()[1:-1]
    plain = (runs.c.id, runs.c.machine, runs.c.branch, runs.c.commit_id)
    found = runs.c.suites.icontains(spelled, autoescape=True)
    found |= runs.c.command.icontains(spelled, autoescape=True)
    for column in plain:
        found |= column.icontains(word, autoescape=True)
    return found
