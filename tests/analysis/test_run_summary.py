"""The summary of a run says what its judgement says, and under which conditions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.run_summary import VERSION, conditions_of, summarize_run, unreadable
from stepmark.pipeline import judged
from stepmark.records.environment import RepositoryFacts
from stepmark.records.run import Run
from stepmark.records.settings import Isolation
from stepmark.records.source import FileSource
from stepmark.records.verdict import VerdictKind
from tests.support.recordings import Noise, fail_solo, make_recording, make_run

STILL = Noise(process=0.01, instance=0.002, round=0.005)
RECORDING = make_recording(variants={"dense": 1.0, "mine": 2.0, "same": 1.0}, noise=STILL)


def elsewhere(run: Run, **changes: object) -> Run:
    environment = run.environment
    host = {
        name: value for name, value in changes.items() if name in type(environment.host).__struct_fields__
    }
    torch = {name: value for name, value in changes.items() if name not in host}
    return replace(
        run,
        environment=replace(
            environment, host=replace(environment.host, **host), torch=replace(environment.torch, **torch)
        ),
    )


def test_levels_ratios_and_verdicts_are_those_of_the_judgement() -> None:
    judgement = judged(RECORDING)
    summary = summarize_run(judgement)
    assert (summary.run, summary.version) == (RECORDING.run.id, VERSION)
    for case in judgement.cases:
        for phase in case.summaries:
            (found,) = (
                each for each in summary.cases if (each.case, each.phase) == (case.case.id, phase.phase)
            )
            verdict = next((each for each in case.verdicts if each.phase == phase.phase), None)
            assert found.level == phase.median
            assert (found.ratio, found.verdict) == (
                (verdict.ratio, verdict.kind) if verdict else (None, None)
            )
            assert found.primary == (phase.phase == case.primary)
    assert len(summary.cases) == sum(len(case.summaries) for case in judgement.cases)


def test_verdicts_and_failures_are_counted() -> None:
    summary = summarize_run(judged(fail_solo(RECORDING, "same")))
    assert dict(summary.verdicts) == {VerdictKind.INVALID: 1, VerdictKind.SLOWER: 1}
    assert summary.num_failed == 1
    assert not any("/same[" in case.case for case in summary.cases), "it has no level"


@pytest.mark.parametrize(
    "changes",
    [
        {"hostname": "other"},
        {"cpu_model": "Other CPU"},
        {"version": "2.14.0"},
        {"flags": (("allow_tf32", "True"),)},
        {"interop_threads": 2},
    ],
)
def test_other_conditions_have_another_key(changes: dict[str, object]) -> None:
    run = make_run()
    assert conditions_of(elsewhere(run, **changes)).key != conditions_of(run).key


def test_threads_and_isolation_are_conditions() -> None:
    run = make_run()
    keys = {
        conditions_of(replace(run, settings=settings)).key
        for settings in (
            run.settings,
            replace(run.settings, threads=3),
            replace(run.settings, isolation=Isolation.SEPARATE),
        )
    }
    assert len(keys) == 3


@given(st.text(max_size=5), st.floats(0.0, 1e9), st.text("0123456789abcdef", min_size=40, max_size=40))
def test_code_date_and_python_are_no_conditions(python: str, started: float, commit: str) -> None:
    run = make_run()
    other = replace(elsewhere(run, python=python), started=started, id="other")
    repository = RepositoryFacts(commit=commit, dirty=True, branch="branch")
    other = replace(other, environment=replace(other.environment, repository=repository))
    assert conditions_of(other) == conditions_of(run)


def test_replications_share_their_code() -> None:
    judgement = judged(RECORDING)
    first = summarize_run(judgement).code
    again = replace(judgement, run=replace(judgement.run, id="another", started=7.0))
    assert first == summarize_run(again).code is not None
    newer = replace(judgement.run.environment, stepmark="0.2.0")
    assert summarize_run(replace(judgement, run=replace(judgement.run, environment=newer))).code != first


def test_code_that_is_not_known_is_no_replication() -> None:
    judgement = judged(RECORDING)
    file = replace(judgement.run, sources=(FileSource(path="bench_mine.py"),))
    assert summarize_run(replace(judgement, run=file)).code is None


def test_a_run_that_cannot_be_read_has_nothing_to_show() -> None:
    summary = unreadable("run")
    assert (summary.cases, summary.verdicts, summary.code) == ((), (), None)
