"""An open database: one transaction a call, and every trouble explained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from stepmark.errors import StoreError
from stepmark.store.connection import connect, reading, writing
from stepmark.store.location import database_file, parse, prepare_file
from stepmark.store.trouble import explained
from stepmark.store.version import ready


class Opened:
    """What a store stands on: an engine, and the place that messages name."""

    def __init__(self, engine: Engine, *, place: str) -> None:
        self._engine = engine
        self.place = place
        """The file, or the URL without its password: what messages call the store."""

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
        return cls(engine, place=place)

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
            try:
                with writing(self._engine).begin() as connection:
                    yield connection
            except IntegrityError as error:
                raise StoreError(
                    f"{conflict}: {error.orig}",
                    remedy="does another process resume the same run? stepmark runs lists what is there",
                ) from error
