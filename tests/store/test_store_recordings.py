"""What is appended is what is loaded, to the last byte and in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, zip_longest

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from sqlalchemy import text

from stepmark.errors import StoreError
from stepmark.records.environment import LoadFacts
from stepmark.records.run import FORMAT, Recording, Run, RunStatus
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial
from stepmark.store.store import Store
from tests.support.arbitrary import runs, trials
from tests.support.recordings import fail_lane, fail_solo, make_recording, make_run

_ids = (f"run-{number}" for number in count())
_END = LoadFacts(time=12.5, load_1m=0.5)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def recording_of(run: Run, mixed: Sequence[Trial]) -> Recording:
    return Recording(
        run=run,
        solos=tuple(trial for trial in mixed if isinstance(trial, SoloTrial)),
        launches=tuple(trial for trial in mixed if isinstance(trial, LaunchTrial)),
    )


def assert_same(loaded: Recording, original: Recording) -> None:
    assert loaded == original
    # 1, 1.0 and True are equal in Python and three different axis values in JSON
    assert msgspec.json.encode(loaded) == msgspec.json.encode(original)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(first=runs(), second=runs(), first_trials=trials(), second_trials=trials())
def test_any_two_runs_come_back_as_they_were(
    store: Store, first: Run, second: Run, first_trials: list[Trial], second_trials: list[Trial]
) -> None:
    first, second = replace(first, id=next(_ids)), replace(second, id=next(_ids))
    store.begin(first)
    store.begin(second)
    for one, other in zip_longest(first_trials, second_trials):
        if one:
            store.append(first.id, one)
        if other:
            store.append(second.id, other)
    assert_same(store.load(first.id), recording_of(first, first_trials))
    assert_same(store.load(second.id), recording_of(second, second_trials))


def test_a_sweep_with_failures_comes_back_from_a_file(tmp_path: object) -> None:
    original = make_recording(axes={"features": (64, 128), "tokens": (1, 2)}, num_launches=3)
    original = fail_lane(fail_solo(original, "mine"), "dense", launch=1, keep=4)
    with Store.open(f"sqlite:///{tmp_path}/results.db") as store:
        store.begin(original.run)
        for solo in original.solos:
            store.append(original.run.id, solo)
        for launch in original.launches:
            store.append(original.run.id, launch)
    with Store.open(f"sqlite:///{tmp_path}/results.db", create=False) as store:
        assert_same(store.load(original.run.id), original)


def test_a_run_ends_and_begins_again(store: Store) -> None:
    run = replace(make_run(id=next(_ids)), status=RunStatus.RUNNING, finished=None, load_end=None)
    store.begin(run)
    store.finish(run.id, status=RunStatus.INTERRUPTED, finished=12.5, load_end=_END)
    ended = replace(run, status=RunStatus.INTERRUPTED, finished=12.5, load_end=_END)
    assert store.load(run.id) == Recording(run=ended)
    store.reopen(run.id)
    assert store.load(run.id) == Recording(run=run)


def test_one_launch_is_not_stored_twice(store: Store) -> None:
    recording = make_recording(num_launches=1)
    run_id = next(_ids)
    store.begin(replace(recording.run, id=run_id))
    store.append(run_id, recording.launches[0])
    with pytest.raises(StoreError, match=f"run {run_id} cannot take this trial"):
        store.append(run_id, recording.launches[0])
    assert store.load(run_id).launches == recording.launches


def test_one_run_does_not_begin_twice(store: Store) -> None:
    run = make_run(id=next(_ids))
    store.begin(run)
    with pytest.raises(StoreError, match=f"run {run.id} cannot begin"):
        store.begin(run)


def test_a_run_that_is_not_there(store: Store) -> None:
    trial = make_recording(num_launches=1).launches[0]
    for use in (
        lambda: store.load("nowhere"),
        lambda: store.reopen("nowhere"),
        lambda: store.finish("nowhere", status=RunStatus.COMPLETE, finished=1.0, load_end=_END),
        lambda: store.append("nowhere", trial),
    ):
        with pytest.raises(StoreError, match="run nowhere"):
            use()


def test_what_json_cannot_carry_is_refused_before_anything_is_written(store: Store) -> None:
    run = make_run(id=next(_ids), axes={"clip": (1.0, float("inf"))})
    with pytest.raises(StoreError, match="cannot be stored"):
        store.begin(run)
    with pytest.raises(StoreError, match="cannot be stored"):
        store.begin(make_run(id=next(_ids), suite="\ud800"))
    assert run.id not in [head.id for head in store.heads(None)]


def test_a_newer_format_is_listed_but_not_read(store: Store) -> None:
    run = replace(make_run(id=next(_ids)), format=FORMAT + 1)
    store.begin(run)
    with pytest.raises(StoreError, match="newer stepmark") as caught:
        store.load(run.id)
    assert caught.value.remedy == "upgrade stepmark"
    assert run.id in [head.id for head in store.heads(None)]


def test_a_damaged_record_is_named(tmp_path: object) -> None:
    with Store.open(f"sqlite:///{tmp_path}/results.db") as store:
        run = make_run()
        store.begin(run)
        with store._writing() as connection:
            connection.execute(text("UPDATE run_records SET record = '{}'"))
        with pytest.raises(StoreError, match=r"results\.db holds a record that cannot be read"):
            store.load(run.id)
