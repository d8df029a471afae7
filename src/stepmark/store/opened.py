"""An open database: one transaction a call, and every trouble explained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from stepmark.errors import StoreError
from stepmark.store.connection import connect, reading, writing
from stepmark.store.location import database_file, identity, parse, prepare_file
from stepmark.store.trouble import explained
from stepmark.store.version import ready


class Opened:
    """What a store stands on: an engine, and the place that messages name."""

    def __init__(self, engine: Engine, *, place: str, file: Path | None = None) -> None:
        self._engine = engine
        self.place = place
        """The file, or the URL without its password: what messages call the store."""
        self._file = file and file.absolute()  # whoever uses the store may go to another directory
        self._identity = identity(file)

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Open a store and bring its tables up to date; with `create=False` a missing one is an error."""
        parsed = parse(url)
        file = database_file(parsed)
        place = str(file) if file else parsed.render_as_string()
        with explained(place):
            if file:
                prepare_file(file, create=create)
            engine = connect(parsed)
            try:
                ready(engine, create=create, place=place)
            except BaseException:
                engine.dispose()
                raise
        return cls(engine, place=place, file=file)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self.place), reading(self._engine).connect() as connection:
            yield connection

    @contextmanager
    def _writing(self, *, conflict: str = "the store refuses") -> Iterator[Connection]:
        with explained(self.place):
            self._refuse_another_file()
            try:
                with writing(self._engine).begin() as connection:
                    yield connection
            except IntegrityError as error:
                raise StoreError(
                    f"{conflict}: {error.orig}",
                    remedy="does another process resume the same run? stepmark runs lists what is there",
                ) from error

    def _refuse_another_file(self) -> None:
        """SQLite goes on writing to a file that has lost its name, and what is written there nobody finds."""
        if identity(self._file) != self._identity:
            raise StoreError(
                f"{self.place} was moved, deleted or replaced while it was open",
                remedy="put the file back with what lies beside it (-wal, -shm), and go on; of one that was "
                "deleted only what was printed is left",
            )
