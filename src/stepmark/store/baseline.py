"""Baselines: names of stored runs, to compare others with. Rows are added; the newest of a name counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from sqlalchemy import Connection, func, insert, select

from stepmark.errors import UsageError
from stepmark.records.record import Record
from stepmark.store.codec import NAMES
from stepmark.store.reference import LATEST
from stepmark.store.schema import baselines, runs

_NAME = re.compile(r"[A-Za-z][\w./-]*")
"""Begins with a letter, where ids of runs begin with a digit: neither is ever taken for the other."""


class Baseline(Record, frozen=True, kw_only=True):
    """A run with a name."""

    name: str
    run: str
    """Its id."""
    saved: float
    """When the run got the name, in seconds since the epoch."""
    started: float
    """When the run started."""
    suites: tuple[str, ...]


def check_name(name: str) -> None:
    """Refuse what could not be told from another reference to a run."""
    if _NAME.fullmatch(name) is None or name == LATEST:
        raise UsageError(
            f"'{name}' cannot name a baseline",
            remedy=f"begin with a letter, go on with letters, digits and ._/-; '{LATEST}' is taken",
        )


def load_baselines(connection: Connection) -> tuple[Baseline, ...]:
    """The names in use, in alphabetical order."""
    newest = select(func.max(baselines.c.id)).group_by(baselines.c.name)
    query = (
        select(baselines.c.name, baselines.c.run_id, baselines.c.saved, runs.c.started, runs.c.suites)
        .join(runs)
        .where(baselines.c.id.in_(newest))
        .order_by(baselines.c.name)
    )
    return tuple(
        Baseline(
            name=row.name,
            run=row.run_id,
            saved=row.saved,
            started=row.started,
            suites=NAMES.decode(row.suites),
        )
        for row in connection.execute(query)
    )


def insert_baseline(connection: Connection, name: str, run_id: str | None, *, saved: float) -> None:
    """From now on the name means this run, or none."""
    connection.execute(insert(baselines), {"name": name, "run_id": run_id, "saved": saved})


def no_baseline(name: str, known: Sequence[Baseline]) -> UsageError:
    """For a name that no run has."""
    names = [baseline.name for baseline in known]
    near = get_close_matches(name, names, n=1)
    remedy = f"did you mean {near[0]}? " if near else ""
    remedy += f"the baselines are: {', '.join(names)}" if names else "stepmark baseline save NAME makes one"
    return UsageError(f"there is no baseline '{name}'", remedy=remedy)
