"""A run's head, its recording and its judgement: what can be asked of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.records.outcome import Outcome
from stepmark.records.outline import SuiteOutline, VariantOutline
from tests.support.recordings import make_recording, make_run
from tests.support.trials import make_failure, make_solo


def test_the_baseline_of_an_outline() -> None:
    variants = (VariantOutline(name="mine"), VariantOutline(name="dense", baseline=True))
    assert SuiteOutline(name="s", variants=variants).baseline == "dense"


def test_the_baseline_of_a_suite_of_a_run() -> None:
    run = make_run(suite="one", variants=("dense", "mine"))
    other = SuiteOutline(name="two", variants=(VariantOutline(name="thin", baseline=True),))
    both = replace(run, suites=(*run.suites, other))
    assert (both.baseline("one"), both.baseline("two")) == ("dense", "thin")
    with pytest.raises(StopIteration):
        both.baseline("three")


def test_trials_are_solo_passes_then_launches() -> None:
    recording = make_recording(num_launches=2)
    assert recording.trials == (*recording.solos, *recording.launches)


def test_a_solo_pass_ended_as_its_failure_says() -> None:
    case = make_run().cases[0]
    assert make_solo(case).outcome is Outcome.MEASURED
    assert make_solo(case, failure=make_failure(Outcome.TIMED_OUT)).outcome is Outcome.TIMED_OUT


def test_a_case_is_judged_by_its_primary_phase() -> None:
    baseline, mine = judge(make_recording(num_launches=3)).cases
    assert baseline.verdict is None
    assert mine.verdict is not None
    assert mine.verdict.phase == mine.primary == "step"
    forward = mine.summary("forward")
    assert forward is not None
    assert forward.phase == "forward"
    assert mine.summary("no such phase") is None
