"""PostgreSQL holds the same tables, and gives back the same runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from msgspec.structs import replace
from sqlalchemy import Connection, create_engine, text

from stepmark.analysis.run_summary import summarize_run
from stepmark.errors import StoreError, UsageError
from stepmark.pipeline import judged
from stepmark.records.run import RunStatus
from stepmark.store import connection, reading, schema
from stepmark.store.baseline import insert_baseline
from stepmark.store.migration import migration_config
from stepmark.store.store import Store
from tests.store.dated_runs import dated
from tests.store.processes import run
from tests.store.programs import launch
from tests.support.recordings import make_run


def test_the_migrations_lead_to_the_tables_of_the_code(empty_url: str) -> None:
    Store.open(empty_url).close()
    engine = create_engine(empty_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.REVISION_TABLE})
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


def test_a_store_of_an_older_stepmark_is_migrated_with_its_runs(empty_url: str) -> None:
    """From the tables of 0005, whose records were in the list of runs."""
    old = replace(dated(1).run, cases=(), load_end=None)
    row = {
        "id": old.id,
        "started": old.started,
        "finished": old.finished,
        "status": old.status.value,
        "format": 2,
        "stepmark": "0.1.0",
        "command": "[]",
        "suites": '["synthetic"]',
        "num_cases": 0,
        "record": msgspec.json.encode(old).decode(),
    }
    config, engine = migration_config(), create_engine(empty_url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO runs ({names}) VALUES ({values})"), row)
    engine.dispose()
    with Store.open(empty_url, create=False) as store:
        assert store.run(old.id) == old
        head = store.head(old.id)
        assert (head.machine, head.commit, head.dirty) == ("bench", f"{1:040x}", True)
        assert store.search(suite="synthetic", machine="bench").total == 1


def test_a_run_that_was_measured_trial_by_trial_comes_back(empty_url: str) -> None:
    recording = dated(1)
    with Store.open(empty_url) as store:
        store.begin(recording.run)
        for trial in recording.trials:
            store.append(recording.run.id, trial)
        assert store.load(recording.run.id) == recording
        assert store.resolve("latest") == recording.run.id
    with Store.open(empty_url, create=False) as store:
        assert store.search().total == 1


def test_a_reader_sees_one_moment(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that is appended between two queries of a load is not there for the second."""
    recording = dated(1)
    load_lanes = reading._load_lanes
    with Store.open(empty_url) as writer, Store.open(empty_url) as reader:
        writer.begin(recording.run)
        late = iter(recording.launches)
        writer.append(recording.run.id, next(late))

        def appending(connection: Connection, run_id: str) -> object:
            found = load_lanes(connection, run_id)
            writer.append(run_id, next(late))
            return found

        monkeypatch.setattr(reading, "_load_lanes", appending)
        for num_before in (1, 2):
            assert reader.load(recording.run.id).launches == recording.launches[:num_before]


def test_every_load_beside_a_writer_is_whole(empty_url: str) -> None:
    with Store.open(empty_url) as writer, Store.open(empty_url) as reader:
        writer.begin(make_run(id="run", status=RunStatus.RUNNING))

        def write() -> None:
            for number in range(40):
                writer.append("run", launch(number))

        writing = threading.Thread(target=write)
        writing.start()
        while writing.is_alive():
            found = reader.load("run").launches
            assert found == tuple(map(launch, range(len(found))))
        writing.join()
        assert len(reader.load("run").launches) == 40


@pytest.mark.process
@pytest.mark.beside
def test_processes_that_create_one_store_at_the_same_moment_all_succeed(empty_url: str) -> None:
    (result,) = run("contend", 3, 5, empty_url)
    assert result["statuses"] == [0, 0, 0]
    with Store.open(empty_url, create=False) as store:
        assert [head.num_launches for head in store.heads(None)] == [5, 5, 5]


def beside(store: Store, act: Callable[[], object]) -> None:
    """Let a second writer begin while the first has written and not ended yet."""
    second = threading.Thread(target=act)
    with store._writing() as connection:
        connection.execute(text("SELECT 1"))
        insert_baseline(connection, "main", dated(1).run.id, saved=1.0)
        second.start()
        time.sleep(0.3)
    second.join()


def test_a_name_is_given_to_one_of_two_runs(empty_url: str) -> None:
    refused: list[str] = []
    with Store.open(empty_url) as first, Store.open(empty_url) as second:
        for number in (1, 2):
            first.add_recording(dated(number))

        def save() -> None:
            try:
                second.save_baseline("main", dated(2).run.id, saved=2.0)
            except UsageError as error:
                refused.append(error.problem)

        beside(first, save)
        assert refused == [f"there is a baseline 'main' already: run {dated(1).run.id}"]
        assert first.baseline("main") == dated(1).run.id


def test_two_that_summarize_one_run_take_turns(empty_url: str) -> None:
    recording = dated(1)
    summary = summarize_run(judged(recording))
    failed: list[Exception] = []
    with Store.open(empty_url) as first, Store.open(empty_url) as second:
        first.add_recording(recording)

        def keep(store: Store) -> None:
            try:
                for _ in range(10):
                    store.keep_summary(summary)
            except StoreError as error:
                failed.append(error)

        threads = [threading.Thread(target=keep, args=(store,)) for store in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert first.head(recording.run.id).verdicts is not None


def test_a_turn_that_does_not_come_is_told_as_a_lock(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)
    recording = dated(1)
    with Store.open(empty_url) as first, Store.open(empty_url) as second:
        with first._writing(), pytest.raises(StoreError, match="is locked by another process"):
            second.add_recording(recording)
        assert second.add_recording(recording)
        assert first.load(recording.run.id) == recording


def test_a_server_that_was_started_anew_between_two_trials_costs_neither(empty_url: str) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    with Store.open(empty_url) as store:
        store.begin(make_run(id="run", status=RunStatus.RUNNING))
        store.append("run", launch(0))
        engine = create_engine(empty_url)
        with engine.connect() as connection:  # what is left of connections when a server ends
            connection.execute(text(f"{others} AND backend_type = 'client backend'"))
        engine.dispose()
        store.append("run", launch(1))
        assert store.load("run").launches == (launch(0), launch(1))
