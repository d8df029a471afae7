"""Who may go on with a run: whoever measures here, unless somebody does already."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from stepmark.errors import StoreError, UsageError
from stepmark.interchange.run_bundle import from_bundle, to_bundle
from stepmark.records.run import RunStatus
from stepmark.store.store import Store
from tests.store.dated_runs import dated
from tests.store.processes import start

RUN = "20270101-000001-aaaa"
STOPPED = dated(1, status=RunStatus.INTERRUPTED)


def test_a_run_that_was_measured_here_goes_on(empty_store: Store) -> None:
    empty_store.begin(STOPPED.run)
    empty_store.check_resumable(RUN)
    empty_store.reopen(RUN)
    assert empty_store.head(RUN).status is RunStatus.RUNNING
    empty_store.reopen(RUN)  # by the same process: the one before it failed without saying so


def test_a_run_from_elsewhere_does_not(empty_store: Store) -> None:
    empty_store.add_recording(from_bundle(to_bundle(STOPPED)))
    for ask in (empty_store.check_resumable, empty_store.reopen):
        with pytest.raises(UsageError, match="cannot be resumed: it was measured elsewhere"):
            ask(RUN)
    assert empty_store.head(RUN).status is RunStatus.INTERRUPTED


def test_the_same_run_from_elsewhere_takes_nothing_from_the_one_that_is_here(empty_store: Store) -> None:
    empty_store.begin(STOPPED.run)
    for trial in STOPPED.trials:
        empty_store.append(RUN, trial)
    assert not empty_store.add_recording(STOPPED)
    empty_store.check_resumable(RUN)


def test_a_run_that_is_not_there(empty_store: Store) -> None:
    empty_store.check_resumable("nowhere")
    with pytest.raises(StoreError, match="there is no run nowhere"):
        empty_store.reopen("nowhere")


@pytest.mark.process
@pytest.mark.beside
@pytest.mark.parametrize("server", [False, True], ids=["sqlite", "postgresql"])
def test_a_run_that_is_being_measured_waits_for_its_process_and_not_for_a_dead_one(
    tmp_path: Path, server: bool, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("empty_url") if server else f"sqlite:///{tmp_path / 'runs.db'}"
    process = start("hold", url)
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    with Store.open(url) as store:
        for ask in (store.check_resumable, store.reopen):
            with pytest.raises(UsageError, match=f"is being measured, by process {process.pid} on"):
                ask(run_id)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        store.reopen(run_id)
        store.check_resumable(run_id)


@pytest.mark.process
@pytest.mark.beside
def test_of_two_processes_that_resume_one_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    with Store.open(url) as store:
        store.begin(STOPPED.run)
    process = start("resume", url, RUN)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == RUN
    with Store.open(url) as store, pytest.raises(UsageError, match="is being measured"):
        store.reopen(RUN)
    process.kill()
    process.communicate()


@pytest.mark.process
@pytest.mark.beside
def test_a_run_that_has_ended_is_nobodys(tmp_path: Path) -> None:
    """Even while the process that measured it goes on to report."""
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    process = start("hold", url, "finished")
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    with Store.open(url) as store:
        store.check_resumable(run_id)
    process.kill()
    process.communicate()
