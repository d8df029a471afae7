"""Summaries are kept beside runs, replaced, dropped when a run goes on, and missed where there is none."""

from __future__ import annotations

from msgspec.structs import replace

from stepmark.analysis.run_summary import VERSION, summarize_run
from stepmark.pipeline import judged
from stepmark.records.run import FORMAT, RunStatus
from stepmark.records.verdict import VerdictKind
from stepmark.store.store import Store
from tests.store.dated_runs import dated, keep_summarized

DENSE = "synthetic/dense[features=512]/cpu/float32/train"


def test_a_summary_shows_in_the_head(empty_store: Store) -> None:
    recording = dated(1)
    keep_summarized(empty_store, recording)
    head = empty_store.head(recording.run.id)
    assert head.verdicts == ((VerdictKind.SLOWER, 1),)
    assert head.num_failed == 0


def test_verdicts_are_counted_in_the_order_of_a_report(empty_store: Store) -> None:
    recording = dated(1)
    keep_summarized(empty_store, recording)
    counts = tuple((kind, place + 1) for place, kind in enumerate(VerdictKind))
    summary = replace(summarize_run(judged(recording)), verdicts=tuple(sorted(counts)))
    empty_store.keep_summary(summary)
    assert empty_store.head(recording.run.id).verdicts == counts


def test_keeping_it_again_changes_nothing(empty_store: Store) -> None:
    recording = dated(1)
    keep_summarized(empty_store, recording)
    before = empty_store.case_points(DENSE)
    empty_store.keep_summary(summarize_run(judged(recording)))
    assert empty_store.case_points(DENSE) == before != ()


def test_newer_rules_replace_all_of_it(empty_store: Store) -> None:
    recording = dated(1)
    keep_summarized(empty_store, recording)
    newer = replace(
        summarize_run(judged(recording)), version=VERSION + 1, cases=(), verdicts=(), num_failed=2
    )
    empty_store.keep_summary(newer)
    assert empty_store.case_points(DENSE) == ()
    head = empty_store.head(recording.run.id)
    assert (head.verdicts, head.num_failed) == ((), 2)


def test_runs_are_stale_without_a_summary_or_with_an_older_one(empty_store: Store) -> None:
    recordings = [dated(number) for number in range(1, 5)]
    for recording in recordings:
        empty_store.add_recording(recording)
    ids = [recording.run.id for recording in reversed(recordings)]
    assert empty_store.stale(version=VERSION, limit=10) == tuple(ids), "the newest first"
    assert empty_store.stale(version=VERSION, limit=2) == tuple(ids[:2])
    for recording in recordings[:3]:
        keep_summarized(empty_store, recording)
    assert empty_store.stale(version=VERSION, limit=10) == (ids[0],)
    assert empty_store.stale(version=VERSION + 1, limit=10) == tuple(ids)


def test_runs_that_go_on_and_runs_of_newer_records_are_not_stale(empty_store: Store) -> None:
    empty_store.begin(replace(dated(1).run, status=RunStatus.RUNNING, finished=None))
    empty_store.begin(replace(dated(2).run, format=FORMAT + 1))
    empty_store.begin(replace(dated(3).run, status=RunStatus.INTERRUPTED))
    assert empty_store.stale(version=VERSION, limit=10) == (dated(3).run.id,)


def test_a_run_that_is_resumed_loses_its_summary(empty_store: Store) -> None:
    recording = dated(1)
    empty_store.begin(replace(recording.run, status=RunStatus.INTERRUPTED))
    for trial in recording.trials:
        empty_store.append(recording.run.id, trial)
    empty_store.keep_summary(summarize_run(judged(recording)))
    assert empty_store.reopen(recording.run.id)
    assert empty_store.case_points(DENSE) == ()
    assert empty_store.head(recording.run.id).verdicts is None
