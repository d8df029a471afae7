"""What of the cases that are asked for other runs have not measured, and what does not go together."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.missing_cases import measured_cases, missing_cases
from stepmark.errors import UsageError
from stepmark.records.card import CardFacts
from stepmark.records.case import Case
from stepmark.records.environment import Environment
from stepmark.records.outcome import Outcome
from stepmark.records.outline import VariantOutline
from stepmark.records.run import Recording, Run
from stepmark.records.source import FileSource
from stepmark.records.trial import LaneTrial, LaunchTrial, Role
from tests.support.recordings import make_recording
from tests.support.trials import make_failure

RECORDING = make_recording(axes={"features": (256, 512, 1024)}, num_launches=2)
ASKED, HERE = RECORDING.run.cases, RECORDING.run.environment
POINTS = ("features=256", "features=512", "features=1024")
VARIANTS = sorted({case.variant for case in ASKED})


def ids(points: Collection[str] = POINTS, variants: Collection[str] = VARIANTS) -> set[str]:
    return {case.id for case in ASKED if case.cell.point in points and case.variant in variants}


def missing(*elsewhere: Recording, asked: tuple[Case, ...] = ASKED, here: Environment = HERE) -> set[str]:
    run = replace(RECORDING.run, cases=asked, environment=here)
    return {case.id for case in missing_cases(run, elsewhere, run.suites)}


def with_launches_of(kept: Collection[str]) -> Recording:
    return replace(RECORDING, launches=tuple(each for each in RECORDING.launches if each.cell.point in kept))


def launched(change: Callable[[LaunchTrial], LaunchTrial]) -> Recording:
    """Other launches of the first cell."""
    return replace(
        RECORDING,
        launches=tuple(change(each) if each.cell.point == POINTS[0] else each for each in RECORDING.launches),
    )


def failed_alone(variants: Collection[str], outcome: Outcome) -> Recording:
    """In the first cell, which was launched without them."""
    failing = ids(POINTS[:1], variants)
    trials = launched(
        lambda launch: replace(
            launch, lanes=tuple(lane for lane in launch.lanes if lane.variant not in variants)
        )
    )
    return replace(
        trials,
        solos=tuple(
            replace(solo, failure=make_failure(outcome)) if solo.case.id in failing else solo
            for solo in trials.solos
        ),
    )


@given(st.sets(st.sampled_from(POINTS)))
def test_those_of_cells_without_a_launch_that_came_to_its_end(kept: set[str]) -> None:
    recording = with_launches_of(kept)
    assert measured_cases(recording) == ids(kept)
    if kept != {*POINTS}:
        assert missing(recording) == ids({*POINTS} - kept)


def test_a_launch_that_was_cut_short_or_without_company_does_not_count() -> None:
    assert missing(launched(lambda each: replace(each, cut_short=True))) == ids(POINTS[:1])
    assert missing(launched(lambda each: replace(each, role=Role.ALONE))) == ids(POINTS[:1])


@pytest.mark.parametrize("there", ["in the one that was cut short", "in the other", "in both"])
def test_a_case_that_only_a_launch_that_was_cut_short_has_blocks_of_is_missing(there: str) -> None:
    """The other launch of its cell came to its end without it."""

    def change(launch: LaunchTrial) -> LaunchTrial:
        launch = replace(launch, cut_short=launch.number == 0)
        if there == "in both" or (there == "in the other") == (launch.number == 1):
            return launch
        return replace(launch, lanes=tuple(lane for lane in launch.lanes if lane.variant != VARIANTS[0]))

    recording = launched(change)
    lost = ids(POINTS[:1], VARIANTS[:1]) if there == "in the one that was cut short" else set()
    assert measured_cases(recording) == ids() - lost
    if lost:
        assert missing(recording) == ids(POINTS[:1])


def test_one_launch_is_enough() -> None:
    """Coverage, not verdicts: whatever is asked for, a single whole launch is not made again."""
    one = launched(lambda each: replace(each, cut_short=each.number > 0))
    with pytest.raises(UsageError, match="nothing is missing") as refused:
        missing(one)
    assert "one launch alone gives no verdict" in refused.value.remedy


@given(st.sets(st.sampled_from(VARIANTS), min_size=1, max_size=len(VARIANTS) - 1))
def test_a_cell_is_missing_while_one_of_the_variants_asked_for_is(variants: set[str]) -> None:
    partly = replace(
        RECORDING,
        run=replace(RECORDING.run, cases=tuple(case for case in ASKED if case.variant in variants)),
        launches=tuple(
            replace(each, lanes=tuple(lane for lane in each.lanes if lane.variant in variants))
            for each in RECORDING.launches
        ),
    )
    assert missing(partly) == ids()
    fewer = tuple(case for case in ASKED if case.variant in variants)
    with pytest.raises(UsageError, match="nothing is missing"):
        missing(partly, asked=fewer)


def test_what_failed_is_tried_again_unless_it_is_not_supported() -> None:
    for outcome in (Outcome.CRASHED, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT):
        assert missing(failed_alone(VARIANTS[:1], outcome)) == ids(POINTS[:1])
        assert missing(failed_alone(VARIANTS, outcome)) == ids(POINTS[:1])
    for variants in (VARIANTS[:1], VARIANTS):
        with pytest.raises(UsageError, match="nothing is missing"):
            missing(failed_alone(variants, Outcome.UNSUPPORTED))


def test_what_failed_in_company_is_tried_again() -> None:
    def failing(lane: LaneTrial) -> LaneTrial:
        return replace(lane, failure=make_failure()) if lane.variant == VARIANTS[0] else lane

    assert missing(launched(lambda each: replace(each, lanes=tuple(map(failing, each.lanes))))) == ids(
        POINTS[:1]
    )


def test_runs_are_taken_together() -> None:
    some, others = with_launches_of(POINTS[:1]), with_launches_of(POINTS[1:2])
    assert missing(some, others) == ids(POINTS[2:])
    with pytest.raises(UsageError, match="nothing is missing"):
        missing(some, with_launches_of(POINTS[1:]))
    assert missing(replace(RECORDING, solos=(), launches=())) == ids()


def test_a_run_of_another_machine_is_refused_if_it_has_something_that_is_asked_for() -> None:
    torch = replace(HERE.torch, version="1.0")
    others = {
        "torch 1.0": replace(HERE, torch=torch),
        "Another processor": replace(HERE, host=replace(HERE.host, cpu_model="Another processor")),
    }
    for difference, there in others.items():
        some = with_launches_of(POINTS[:1])
        elsewhere = replace(some, run=replace(some.run, environment=there))
        with pytest.raises(UsageError, match=f"another machine than this: .*{difference}"):
            missing(elsewhere)
        unasked = tuple(case for case in ASKED if case.cell.point != POINTS[0])
        assert missing(elsewhere, asked=unasked) == ids(POINTS[1:])


def in_file(run: Run, path: str) -> Run:
    return replace(run, sources=(FileSource(path=path),))


def with_variants(run: Run, *names: str) -> Run:
    """The first is the baseline."""
    variants = tuple(VariantOutline(name=name, baseline=name == names[0]) for name in names)
    return replace(run, suites=(replace(run.suites[0], variants=variants),))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            lambda run: replace(run, settings=replace(run.settings, threads=2)),
            "with 1 as number of threads, here 2",
        ),
        (
            lambda run: in_file(run, "/home/bench_mine.py"),
            "synthetic of stepmark itself, here of bench_mine.py",
        ),
        (
            lambda run: with_variants(run, *reversed(VARIANTS)),
            f"synthetic with {VARIANTS[0]} as its baseline, here {VARIANTS[1]}",
        ),
        (lambda run: with_variants(run, VARIANTS[0]), f"variants that it no longer has: {VARIANTS[1]}"),
    ],
)
def test_what_was_measured_of_something_else_is_refused_and_said(
    changed: Callable[[Run], Run], said: str
) -> None:
    now, some = changed(RECORDING.run), with_launches_of(POINTS[:1])
    with pytest.raises(UsageError, match="measured something else than is asked for") as refused:
        missing_cases(now, [some], now.suites)
    assert said in refused.value.problem
    unasked = replace(now, cases=tuple(case for case in ASKED if case.cell.point != POINTS[0]))
    assert {case.id for case in missing_cases(unasked, [some], now.suites)} == ids(POINTS[1:])


def test_a_file_may_lie_elsewhere_and_have_more_variants_than_it_had() -> None:
    """Threads that are left to torch are as many as torch says. What a preset leaves out is not gone."""
    some = with_launches_of(POINTS[:1])
    there = replace(
        some, run=in_file(replace(some.run, settings=replace(some.run.settings, threads=None)), "/a/bench.py")
    )
    now = in_file(RECORDING.run, "/b/bench.py")
    more = with_variants(now, *VARIANTS, "another").suites
    assert {case.id for case in missing_cases(now, [there], more)} == ids(POINTS[1:])


def test_on_an_accelerator_the_host_may_be_another_but_not_the_driver() -> None:
    def on_cuda(recording: Recording, *, driver: str, cpu: str) -> Recording:
        def moved(case: Case) -> Case:
            return replace(case, cell=replace(case.cell, device="cuda"))

        card = CardFacts(name="H200", driver=driver)
        torch = replace(HERE.torch, devices=("H200",), cards=(card,))
        environment = replace(HERE, torch=torch, host=replace(HERE.host, cpu_model=cpu))
        run = replace(recording.run, cases=tuple(map(moved, recording.run.cases)), environment=environment)
        return replace(
            recording,
            run=run,
            solos=tuple(replace(solo, case=moved(solo.case)) for solo in recording.solos),
            launches=tuple(
                replace(each, cell=replace(each.cell, device="cuda")) for each in recording.launches
            ),
        )

    here = on_cuda(RECORDING, driver="580.1", cpu="one")
    same = on_cuda(with_launches_of(POINTS[:2]), driver="580.1", cpu="another")
    other = on_cuda(with_launches_of(POINTS[:2]), driver="570.0", cpu="one")
    assert {case.cell.point for case in missing_cases(here.run, [same], here.run.suites)} == {POINTS[2]}
    with pytest.raises(UsageError, match=r"driver 570\.0"):
        missing_cases(here.run, [other], here.run.suites)
