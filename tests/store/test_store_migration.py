"""Tables are made and brought up to date by migrations, all of them or none."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from msgspec.structs import replace
from sqlalchemy import create_engine, inspect

from stepmark.errors import StoreError, UsageError
from stepmark.records.run import RunStatus
from stepmark.store import migration, schema
from stepmark.store.migration import migration_config
from stepmark.store.store import Store
from tests.store.dated_runs import dated
from tests.store.old_stores import make_old
from tests.support.recordings import make_recording

_NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

def upgrade():
    with op.batch_alter_table("launches") as table:
        table.add_column(sa.Column("host", sa.Text))
        table.alter_column("cell_id", new_column_name="cell")
    {last}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with one launch in it."""
    path = tmp_path / "results.db"
    recording = make_recording(num_launches=1)
    with Store.open(f"sqlite:///{path}") as store:
        store.begin(recording.run)
        store.append(recording.run.id, recording.launches[0])
    return path


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def release_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, last: str) -> None:
    """Pretend that this stepmark knows one migration more."""
    scripts = tmp_path / "50% migrations"
    shutil.copytree(migration.SCRIPTS, scripts)
    (scripts / "versions" / "r0008_next.py").write_text(_NEXT.format(last=last))
    monkeypatch.setattr(migration, "SCRIPTS", scripts)
    monkeypatch.setattr(schema, "REVISION", "0008")


def test_the_migrations_lead_to_the_tables_of_the_code(file: Path, tmp_path: Path) -> None:
    migrated = create_engine(f"sqlite:///{file}")
    declared = create_engine(f"sqlite:///{tmp_path}/declared.db")
    schema.metadata.create_all(declared)
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.REVISION_TABLE})
        assert compare_metadata(context, schema.metadata) == []
    for table in schema.metadata.tables:  # the comparison above leaves primary keys out
        keys = [inspect(engine).get_pk_constraint(table) for engine in (migrated, declared)]
        assert keys[0] == keys[1]
    migrated.dispose()
    declared.dispose()


def test_the_code_names_the_last_migration() -> None:
    assert ScriptDirectory.from_config(migration_config()).get_heads() == [schema.REVISION]


def test_an_up_to_date_store_opens_without_alembic(file: Path) -> None:
    program = (
        "import sys; from stepmark.store.store import Store\n"
        f"Store.open('sqlite:///{file}').close()\n"
        "assert 'alembic' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_older_store_is_migrated_with_what_is_in_it(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(file, "SELECT id, run_id, cell_id, record FROM launches")
    release_next(monkeypatch, tmp_path, last="")
    Store.open(f"sqlite:///{file}", create=False).close()
    assert rows(file, "SELECT id, run_id, cell, record FROM launches") == before
    assert rows(file, "SELECT count(*) FROM lanes") == [(2,)]
    assert rows(file, "SELECT host FROM launches") == [(None,)]
    assert rows(file, f"SELECT * FROM {schema.REVISION_TABLE}") == [("0008",)]
    assert rows(file, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("revision", ["0001", "0002", "0003", "0004", "0005", "0006"])
def test_a_store_of_every_older_stepmark_is_read(tmp_path: Path, revision: str) -> None:
    """Samples without host times, cells without a regime, a lower format: all of it reads as it was."""
    file, recording = tmp_path / "old.db", make_recording(num_launches=2)
    old = replace(recording, run=replace(recording.run, format=1))
    with Store.open(f"sqlite:///{file}") as store:
        store.begin(old.run)
        for trial in old.trials:
            store.append(old.run.id, trial)
    make_old(file, revision)
    with Store.open(f"sqlite:///{file}", create=False) as store:
        assert store.load(old.run.id) == old
    assert rows(file, f"SELECT * FROM {schema.REVISION_TABLE}") == [(schema.REVISION,)]


def test_machine_commit_and_suites_of_older_runs_can_be_searched(tmp_path: Path) -> None:
    file, recordings = tmp_path / "old.db", [dated(1), dated(2, machine="gpu-1", suite="other")]
    with Store.open(f"sqlite:///{file}") as store:
        for recording in recordings:
            store.add_recording(recording)
    make_old(file, "0005")
    with Store.open(f"sqlite:///{file}", create=False) as store:
        assert [store.load(recording.run.id) for recording in recordings] == recordings
        assert [head.id for head in store.search(machine="gpu-1").heads] == [recordings[1].run.id]
        assert [head.id for head in store.search(suite="synthetic").heads] == [recordings[0].run.id]
        assert store.head(recordings[0].run.id).commit == f"{1:040x}"
        assert store.stale(version=1, limit=5) == (recordings[1].run.id, recordings[0].run.id)
    assert rows(file, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize(
    "damaged",
    [
        *('{"id": "r', "", "[]", "7", "[" * 100_000),
        *('{"environment": null}', '{"environment": {"host": null}}'),
        '{"environment": {"host": {"hostname": {}}, "repository": {"commit": 1, "dirty": "no"}}}',
    ],
)
def test_a_damaged_record_has_no_facts_and_stops_no_migration(tmp_path: Path, damaged: str) -> None:
    file, recordings = tmp_path / "old.db", [dated(1), dated(2)]
    with Store.open(f"sqlite:///{file}") as store:
        for recording in recordings:
            store.add_recording(recording)
    make_old(file, "0005")
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE runs SET record = ?, suites = ? WHERE id = ?", (damaged, "[]", recordings[0].run.id)
        )
    connection.close()
    with Store.open(f"sqlite:///{file}", create=False) as store:
        head = store.head(recordings[0].run.id)
        assert (head.machine, head.commit, head.dirty) == ("", None, False)
        assert store.load(recordings[1].run.id) == recordings[1]
        with pytest.raises(StoreError, match="a record that cannot be read"):
            store.load(recordings[0].run.id)


@pytest.mark.parametrize("damaged", ["[", "null", "[1, {}]"])
def test_a_damaged_list_of_suites_stops_no_migration(tmp_path: Path, damaged: str) -> None:
    file = tmp_path / "old.db"
    with Store.open(f"sqlite:///{file}") as store:
        store.add_recording(dated(1))
    make_old(file, "0005")
    rows(file, f"UPDATE runs SET suites = '{damaged}'")
    with Store.open(f"sqlite:///{file}", create=False) as store:
        assert store.suites() == ()


def test_where_older_runs_are_from_is_not_known(tmp_path: Path) -> None:
    """Some of them may have been uploaded: none is resumed."""
    file = tmp_path / "old.db"
    with Store.open(f"sqlite:///{file}") as store:
        store.begin(replace(dated(1).run, status=RunStatus.RUNNING))
    make_old(file, "0006")
    store = Store.open(f"sqlite:///{file}", create=False)
    with store, pytest.raises(UsageError, match="did not note where it is from"):
        store.reopen(dated(1).run.id)


def test_device_times_come_back(tmp_path: Path) -> None:
    recording = make_recording(num_launches=1)
    (launch,) = recording.launches
    lanes = tuple(
        replace(lane, samples=tuple(replace(s, host=s.nanoseconds, lag=s.nanoseconds) for s in lane.samples))
        for lane in launch.lanes
    )
    timed = replace(recording, launches=(replace(launch, lanes=lanes),))
    with Store.open(f"sqlite:///{tmp_path}/new.db") as store:
        store.begin(timed.run)
        for trial in timed.trials:
            store.append(timed.run.id, trial)
        assert store.load(timed.run.id) == timed


def test_a_migration_that_fails_changes_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
    before = rows(file, tables)
    release_next(monkeypatch, tmp_path, last='op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(StoreError, match="no such table: nowhere"):
        Store.open(f"sqlite:///{file}")
    assert rows(file, tables) == before
    assert rows(file, f"SELECT * FROM {schema.REVISION_TABLE}") == [("0007",)]


def test_a_newer_store_is_refused(file: Path) -> None:
    rows(file, f"UPDATE {schema.REVISION_TABLE} SET version_num = '0999'")
    with pytest.raises(StoreError, match=r"results\.db was written by a newer stepmark") as caught:
        Store.open(f"sqlite:///{file}")
    assert caught.value.remedy.startswith("upgrade stepmark")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "cookies.db"
    rows(file, "CREATE TABLE cookies (name)")
    with pytest.raises(StoreError, match=r"cookies\.db is a database of something else"):
        Store.open(f"sqlite:///{file}")
    assert rows(file, "SELECT name FROM sqlite_master") == [("cookies",)]
