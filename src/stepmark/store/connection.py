"""Connections: one engine per store, with SQLite's durability and transactions spelled out.

Why synchronous=FULL: with write-ahead logging NORMAL survives a crash of the process, but after a power cut
the last transactions may be gone. A trial takes seconds to measure and one flush (0.1 to 10 ms) to keep.

Why our own BEGIN: Python's sqlite3 begins a transaction late and always a deferred one, which fails at once,
without waiting, when another process has written between its first read and its first write. Writers here
begin with IMMEDIATE, which waits its turn; readers begin deferred and see one snapshot throughout.

PostgreSQL would do neither by itself: each query sees what was committed when it began, and writers go on
side by side. Readers here ask for one snapshot, writers for a lock that all of them take first.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event

from stepmark.store.location import is_memory

BUSY_SECONDS = 30.0
"""How long a writer waits for another one."""
_BEGIN = "stepmark_begin"
_LOCK = f"SELECT pg_advisory_xact_lock({int.from_bytes(b'stepmark')})"
"""Until the transaction ends; others that use the same database have hardly chosen the same number."""


def connect(url: URL) -> Engine:
    """An engine; nothing is opened before its first connection."""
    if url.get_backend_name() != "sqlite":
        # A server may have been started anew while a trial was measured; the old connection is no use then.
        engine = create_engine(url, pool_pre_ping=True)
        event.listen(engine, "begin", _take_turn)
        return engine
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS}}
    if is_memory(url):
        options["poolclass"] = StaticPool
        options["connect_args"]["check_same_thread"] = False
    engine = create_engine(url, **options)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def reading(engine: Engine) -> Engine:
    """The same engine, for transactions that see one moment throughout."""
    if engine.dialect.name != "postgresql":
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ")


def writing(engine: Engine) -> Engine:
    """The same engine, for transactions that write, one after the other.

    On PostgreSQL what a writer sees must not be settled while it waits for its turn.
    """
    if engine.dialect.name != "postgresql":
        return engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
    return engine.execution_options(isolation_level="READ COMMITTED", **{_BEGIN: _LOCK})


@contextmanager
def rebuilding(engine: Engine) -> Iterator[Connection]:
    """A write transaction in which tables may be replaced: for most changes SQLite has no other way.

    References are not checked meanwhile: dropping the old table would break all that point to it.
    """
    if engine.dialect.name != "sqlite":
        with writing(engine).begin() as connection:
            yield connection
        return
    with writing(engine).connect() as connection:
        driver = connection.connection.cursor()
        driver.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction, so before it
        try:
            with connection.begin():
                yield connection
        finally:
            driver.execute("PRAGMA foreign_keys = ON")


def use_wal(engine: Engine) -> None:
    """Switch a SQLite file to write-ahead logging: readers go on while a trial is written.

    It is a property of the file, set once. SQLite does not wait for its lock here as it does elsewhere, so
    two processes that create one store have to take turns by hand.
    """
    if engine.dialect.name != "sqlite":
        return
    deadline = time.monotonic() + BUSY_SECONDS
    connection = engine.raw_connection()
    try:
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
            else:
                return
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # sqlite3 leaves BEGIN to us; COMMIT and ROLLBACK work as always
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))


def _take_turn(connection: Connection) -> None:
    if connection.dialect.name == "postgresql" and (lock := connection.get_execution_options().get(_BEGIN)):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(1000 * BUSY_SECONDS)}")
        connection.exec_driver_sql(lock)
