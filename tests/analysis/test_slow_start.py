"""Causes of a slow start: each from its own gauge, and none by guessing."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stepmark.analysis.warmup import summarize_warmup
from stepmark.records.warmup import SlowStart, StartCause, WarmupTrial
from tests.support.warmups import MS, Rises, example, make_trial, make_warmup, slow_then_level


def causes(*trials: WarmupTrial) -> dict[SlowStart, StartCause]:
    summary = summarize_warmup(make_warmup(trials))
    assert summary is not None
    return {cause.kind: cause for cause in summary.causes}


def launches(slow: list[float], **gauges: Any) -> list[WarmupTrial]:
    return [make_trial(slow_then_level(slow, seed=n), number=n, **gauges) for n in range(5)]


def test_compilation_with_its_seconds() -> None:
    rises = {"compilations": {0: 2, 1: 1}, "compile_seconds": {0: 0.4, 1: 0.05}}
    found = causes(*launches([0.5, 0.06, 2 * MS], rises=rises))
    assert set(found) == {SlowStart.COMPILATION}
    cause = found[SlowStart.COMPILATION]
    assert (cause.first, cause.last, cause.launches, cause.amount) == (0, 1, 5, 3.0)
    assert cause.seconds == pytest.approx(0.45, rel=0.01)
    assert cause.share == pytest.approx(0.45 / 0.559, rel=0.01)


def test_autotuning_with_its_seconds() -> None:
    found = causes(*launches([0.5], rises={"autotune_seconds": {0: 0.45}}))
    assert found[SlowStart.AUTOTUNING].share == pytest.approx(0.9, rel=0.01)


def test_faults_beyond_those_of_a_steady_iteration_times_their_cost() -> None:
    every = dict.fromkeys(range(30), 10)
    found = causes(*launches([10 * MS], rises={"minor_faults": every | {0: 6010}}))
    assert set(found) == {SlowStart.PAGE_FAULTS, SlowStart.UNKNOWN}
    faults, rest = found[SlowStart.PAGE_FAULTS], found[SlowStart.UNKNOWN]
    assert faults.amount == 6000.0
    assert faults.seconds == pytest.approx(6 * MS, rel=0.01)
    assert rest.share == pytest.approx(1.0 - (faults.share or 0.0))


def test_few_faults_explain_nothing_and_are_not_named() -> None:
    assert set(causes(*launches([10 * MS], rises={"minor_faults": {0: 300}}))) == {SlowStart.UNKNOWN}


def test_faults_of_the_compiler_are_the_compilers() -> None:
    rises = {"compilations": {0: 1}, "compile_seconds": {0: 0.009}, "minor_faults": {0: 9000}}
    assert set(causes(*launches([10 * MS], rises=rises))) == {SlowStart.COMPILATION}


def test_without_the_cost_of_a_fault_nothing_is_said_of_faults() -> None:
    found = causes(*launches([10 * MS], rises={"minor_faults": {0: 6000}}, seconds_per_fault=None))
    assert set(found) == {SlowStart.UNKNOWN}


def test_optimizer_state_by_the_time_of_its_phase() -> None:
    found = causes(*launches([10 * MS], rises={"optimizer_state_bytes": {0: 4096}}))
    cause = found[SlowStart.OPTIMIZER_STATE]
    assert cause.amount == 4096.0
    assert cause.seconds == pytest.approx(0.25 * 9 * MS, rel=0.01), (
        "the optimizer takes a quarter of the step"
    )


def test_imports_and_threads_have_no_time_of_their_own() -> None:
    rises = {"modules": {0: 17}, "threads": {0: 3}}
    found = causes(*launches([10 * MS], rises=rises, new_modules={0: ("xml", "html"), 9: ("late",)}))
    assert list(found) == [SlowStart.LAZY_IMPORTS, SlowStart.THREADS_STARTED, SlowStart.UNKNOWN]
    imports, threads = found[SlowStart.LAZY_IMPORTS], found[SlowStart.THREADS_STARTED]
    assert (imports.amount, imports.names, imports.seconds) == (17.0, ("html", "xml"), None)
    assert (threads.amount, threads.share) == (3.0, None)
    assert found[SlowStart.UNKNOWN].share == pytest.approx(1.0)


def test_device_memory() -> None:
    rises = {"device_allocations": {0: 2}, "device_bytes": {0: 1 << 20}}
    assert causes(*launches([10 * MS], rises=rises))[SlowStart.DEVICE_MEMORY].amount == 1 << 20


def test_a_clock_that_ramps_is_slow_from_the_first_iteration_on() -> None:
    slow = [1.5 * MS] * 5
    spins = dict.fromkeys(range(5), 75_000)
    trials = [replace(trial, before=replace(trial.before, spin_nanoseconds=75_000))
              for trial in launches(slow, spins=spins) if trial.before is not None]  # fmt: skip
    cause = causes(*trials)[SlowStart.CLOCK_RAMP]
    assert cause.amount == pytest.approx(1.5)
    assert cause.first == 0
    assert cause.last <= 5, "the spin after the last slow iteration is also the one before the next"
    assert cause.share == pytest.approx(1.0, rel=0.05)


def test_a_core_taken_away_for_a_moment_is_no_ramp() -> None:
    found = causes(*launches([1.5 * MS] * 5, spins={3: 200_000}))
    assert set(found) == {SlowStart.UNKNOWN}


def test_a_gauge_that_moves_in_steady_iterations_only_is_no_cause() -> None:
    rises = {"modules": {20: 5}, "threads": {12: 1}, "compilations": {25: 1}, "compile_seconds": {25: 1e-4}}
    assert set(causes(*launches([10 * MS], rises=rises))) == {SlowStart.UNKNOWN}


def test_a_cause_must_be_in_most_launches() -> None:
    with_imports = launches([10 * MS], rises={"modules": {0: 5}})
    without = launches([10 * MS])
    assert SlowStart.LAZY_IMPORTS in causes(*with_imports[:3], *without[3:])
    assert SlowStart.LAZY_IMPORTS not in causes(*with_imports[:2], *without[2:])


def test_a_flat_start_needs_no_cause() -> None:
    assert causes(*launches([], rises={"modules": {0: 5}, "minor_faults": {0: 1000}})) == {}


def test_a_fast_start_needs_no_cause() -> None:
    assert causes(*launches([0.5 * MS] * 3)) == {}


def test_recompiling_until_the_end_is_seen_though_it_never_settles() -> None:
    places = range(0, 30, 2)
    times = [20 * MS if place in places else MS for place in range(24)] + [MS] * 6
    steps = [time * (2.0 if place < 24 else 1.0) for place, time in enumerate(times)]
    rises: Rises = {
        "compilations": dict.fromkeys(places, 1),
        "compile_seconds": dict.fromkeys(places, 30 * MS),
    }
    trials = [make_trial(steps, number=n, rises=rises) for n in range(3)]
    summary = summarize_warmup(make_warmup(trials))
    assert summary is not None
    assert summary.automatic is None
    assert summary.causes[0].kind is SlowStart.COMPILATION
    assert summary.causes[0].last == 22


def test_known_times_come_first_and_the_costliest_of_them() -> None:
    summary = summarize_warmup(example())
    assert summary is not None
    assert [cause.kind for cause in summary.causes] == [SlowStart.COMPILATION, SlowStart.LAZY_IMPORTS]
