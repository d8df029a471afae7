"""PostgreSQL holds the same tables, and gives back the same runs."""

from __future__ import annotations

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from msgspec.structs import replace
from sqlalchemy import create_engine, text

from stepmark.store import schema
from stepmark.store.migration import migration_config
from stepmark.store.store import Store
from tests.store.dated_runs import dated


@pytest.fixture
def url(postgresql_url: str) -> str:
    engine = create_engine(postgresql_url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return postgresql_url


def test_the_migrations_lead_to_the_tables_of_the_code(url: str) -> None:
    Store.open(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.REVISION_TABLE})
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


def test_a_store_of_an_older_stepmark_is_migrated_with_its_runs(url: str) -> None:
    """From the tables of 0005, whose records were in the list of runs."""
    run = replace(dated(1).run, cases=(), load_end=None)
    row = {
        "id": run.id,
        "started": run.started,
        "finished": run.finished,
        "status": run.status.value,
        "format": 2,
        "stepmark": "0.1.0",
        "command": "[]",
        "suites": '["synthetic"]',
        "num_cases": 0,
        "record": msgspec.json.encode(run).decode(),
    }
    config, engine = migration_config(), create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO runs ({names}) VALUES ({values})"), row)
    engine.dispose()
    with Store.open(url, create=False) as store:
        assert store.run(run.id) == run
        head = store.head(run.id)
        assert (head.machine, head.commit, head.dirty) == ("bench", f"{1:040x}", True)
        assert store.search(suite="synthetic", machine="bench").total == 1


def test_a_run_that_was_measured_trial_by_trial_comes_back(url: str) -> None:
    recording = dated(1)
    with Store.open(url) as store:
        store.begin(recording.run)
        for trial in recording.trials:
            store.append(recording.run.id, trial)
        assert store.load(recording.run.id) == recording
        assert store.resolve("latest") == recording.run.id
    with Store.open(url, create=False) as store:
        assert store.search().total == 1
