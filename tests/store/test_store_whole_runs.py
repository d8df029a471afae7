"""Whole runs from elsewhere: kept once, however often they come."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.errors import RunExists, StoreError
from stepmark.records.run import RunStatus
from stepmark.store.store import Store
from tests.store.dated_runs import dated
from tests.support.recordings import fail_lane, fail_solo


def test_a_run_is_kept_as_it_is(empty_store: Store) -> None:
    recording = fail_lane(fail_solo(dated(1), "mine"), "dense", launch=1, keep=2)
    assert empty_store.add_recording(recording)
    assert empty_store.load(recording.run.id) == recording


@pytest.mark.parametrize("status", [RunStatus.COMPLETE, RunStatus.INTERRUPTED])
def test_its_end_is_kept_with_it(empty_store: Store, status: RunStatus) -> None:
    recording = dated(1, status=status)
    empty_store.add_recording(recording)
    head = empty_store.head(recording.run.id)
    assert (head.status, head.finished) == (status, recording.run.finished)


def test_the_same_run_again_changes_nothing(empty_store: Store) -> None:
    recording = dated(1)
    assert empty_store.add_recording(recording)
    assert not empty_store.add_recording(recording)
    assert empty_store.search().total == 1
    assert empty_store.head(recording.run.id).num_launches == len(recording.launches)


def test_another_run_of_the_same_id_is_refused(empty_store: Store) -> None:
    recording = dated(1)
    empty_store.add_recording(recording)
    for other in (
        replace(recording, launches=recording.launches[:-1]),
        replace(dated(2), run=replace(dated(2).run, id=recording.run.id)),
    ):
        with pytest.raises(RunExists, match=f"another run {recording.run.id}"):
            empty_store.add_recording(other)
    assert empty_store.load(recording.run.id) == recording


def test_it_is_whole_or_absent(empty_store: Store) -> None:
    """A launch that stands twice is refused, and nothing of the run is left behind."""
    recording = dated(1)
    twice = replace(recording, launches=(*recording.launches, recording.launches[0]))
    with pytest.raises(StoreError, match="cannot be kept"):
        empty_store.add_recording(twice)
    assert empty_store.search().total == 0
    assert empty_store.add_recording(recording)
