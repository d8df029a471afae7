"""The version of a store's tables: read on every opening, brought up to date when it is old."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, inspect, text

from stepmark.errors import StoreError
from stepmark.store import schema
from stepmark.store.trouble import ELSEWHERE, no_runs


def ready(engine: Engine, *, create: bool, place: str) -> None:
    """Leave the store with the tables of this stepmark, or say why that cannot be.

    Alembic (0.15 s to import) is loaded only where there is something to migrate.
    """
    with engine.connect() as connection:
        found = revision(connection, place=place)
    if found == schema.REVISION:
        return
    if found is None and not create:
        raise no_runs(place)
    from stepmark.store.migration import migrate

    migrate(engine, place=place)


def revision(connection: Connection, *, place: str) -> str | None:
    """What the tables were last migrated to; None for an empty database."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if schema.REVISION_TABLE not in tables:
        raise StoreError(f"{place} is a database of something else", remedy=ELSEWHERE)
    query = text(f"SELECT version_num FROM {schema.REVISION_TABLE}")
    return str(connection.execute(query).scalar_one())
