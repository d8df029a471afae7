"""What went wrong with a store, in one line, and what to do about it, in another."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from stepmark.errors import StoreError

ELSEWHERE = "choose another place with --store or STEPMARK_STORE"

_SQLITE = {
    sqlite3.SQLITE_NOTADB: ("{place} is not a database", f"{ELSEWHERE}, or move the file away"),
    sqlite3.SQLITE_CORRUPT: (
        "{place} is damaged: {said}",
        "restore a copy, or save what is left: sqlite3 FILE .recover",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "{place} cannot be opened",
        f"SQLite writes beside it even to read: copy it to where you may write, or {ELSEWHERE}",
    ),
    sqlite3.SQLITE_READONLY: (
        "{place} is read-only or on a read-only disk",
        f"copy it to where you may write, or {ELSEWHERE}",
    ),
    sqlite3.SQLITE_FULL: ("no space left for {place}", "free some space; what was stored before is safe"),
    sqlite3.SQLITE_IOERR: (
        "{place} cannot be read or written: {said}",
        "check the disk, its free space and your quota; what was stored before is safe",
    ),
    sqlite3.SQLITE_BUSY: (
        "{place} is locked by another process",
        f"wait until that one has finished, or {ELSEWHERE}",
    ),
}
_LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's code for a turn that did not come in time."""
_PRIMARY_CODE = 0xFF
"""SQLite's extended codes carry the plain one in their lowest byte."""


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Everything a database, a disk or a damaged record can raise, as a StoreError about `place`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise explain(error, place=place) from error
    except ImportError as error:
        raise StoreError(
            f"{place} cannot be used: {error}", remedy="install the database's driver"
        ) from error
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"{place} holds a record that cannot be read: {error}",
            remedy="was it changed by hand? Restore a copy, or upgrade stepmark if a newer one wrote it",
        ) from error
    except OSError as error:
        raise StoreError(f"{place} cannot be used: {error.strerror or error}", remedy=ELSEWHERE) from error


def is_damage(error: Exception) -> bool:
    """Whether it tells of a record that cannot be read: that does not pass, as a lock or a full disk does."""
    return isinstance(error, StoreError) and isinstance(error.__cause__, msgspec.MsgspecError)


def explain(error: Exception, *, place: str) -> StoreError:
    """The StoreError for a database's error."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    said = str(cause).strip().partition("\n")[0]
    code = cause.sqlite_errorcode & _PRIMARY_CODE if isinstance(cause, sqlite3.Error) else sqlite3.SQLITE_OK
    if getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        code = sqlite3.SQLITE_BUSY
    if code == sqlite3.SQLITE_CANTOPEN and _on_read_only_disk(place):
        code = sqlite3.SQLITE_READONLY
    problem, remedy = _SQLITE.get(code, ("{place} cannot be used: {said}", ELSEWHERE))
    return StoreError(problem.format(place=place, said=said), remedy=remedy)


def _on_read_only_disk(place: str) -> bool:
    """SQLite says only that it cannot open a file there."""
    try:
        return bool(os.statvfs(Path(place).parent).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def no_runs(place: str) -> StoreError:
    """For those who only read where nothing was ever written."""
    return StoreError(
        f"no runs yet: there is no store at {place}",
        remedy="measure something with stepmark run, or name the store with --store or STEPMARK_STORE",
    )
