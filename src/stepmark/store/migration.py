"""Migration: an empty or an older store gets the tables of this stepmark, once, whoever comes first."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from stepmark.errors import StoreError
from stepmark.store import schema
from stepmark.store.connection import rebuilding, use_wal
from stepmark.store.version import revision

SCRIPTS = Path(__file__).with_name("migrations")


def migrate(engine: Engine, *, place: str) -> None:
    """Run what is missing, in one transaction that shuts other writers out: all of it happens, or nothing."""
    config = migration_config()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    use_wal(engine)
    with rebuilding(engine) as connection:
        found = revision(connection, place=place)  # again, now that nobody else can change it
        if found == schema.REVISION:
            return
        if found is not None and found not in known:
            raise StoreError(
                f"{place} was written by a newer stepmark (tables {found}, this one knows {schema.REVISION})",
                remedy="upgrade stepmark, or choose another store with --store or STEPMARK_STORE",
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def migration_config() -> Config:
    """Alembic's configuration without a file of its own."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config
