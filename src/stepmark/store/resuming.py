"""Resuming: which stored runs may be gone on with, which is to execute what they say of themselves."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import Connection, select

from stepmark.errors import UsageError
from stepmark.records.run import RunStatus
from stepmark.store.owner import OWNER, is_another
from stepmark.store.schema import runs


class Origin(StrEnum):
    """How a run came into the store."""

    MEASURED = "measured"
    """Into this store, trial by trial."""
    TAKEN_IN = "taken in"
    """Whole, from elsewhere."""


def check_resumable(connection: Connection, run_id: str) -> None:
    """Refuse a run that nobody here has begun, or that somebody is measuring; without a run nothing is said.

    A run brings its sources with it: a path, an expression, a pickled suite. Who could upload a run could
    otherwise have anything executed by whoever resumes it.
    """
    row = connection.execute(select(runs.c.origin, runs.c.owner).where(runs.c.id == run_id)).one_or_none()
    if row is None:
        return
    if row.origin != Origin.MEASURED:
        why = "it was measured elsewhere" if row.origin else "an older stepmark did not note where it is from"
        raise UsageError(
            f"run {run_id} cannot be resumed: {why}",
            remedy="resuming executes what a run brings with it: start a new one, this one stays here",
        )
    owner = None if row.owner is None else OWNER.decode(row.owner)
    if owner is not None and is_another(owner):
        raise UsageError(
            f"run {run_id} is being measured, by process {owner.pid} on {owner.host}",
            remedy="wait until it has ended, or stop it: both at once would disturb each other",
        )


def is_complete(connection: Connection, run_id: str) -> bool:
    """Whether it came to its end, after which nothing of it is missing."""
    status = connection.execute(select(runs.c.status).where(runs.c.id == run_id)).scalar_one_or_none()
    return status == RunStatus.COMPLETE
