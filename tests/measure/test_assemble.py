"""From events to trials, however the worker ended."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.measure.assemble import Ended, Timing, last_entered, launch_trial, solo_trial
from stepmark.measure.assignment import LaunchAssignment, SoloAssignment
from stepmark.measure.protocol import (
    Began,
    BlockDone,
    Entered,
    Event,
    Finished,
    FlagsChanged,
    LaneFailed,
    RenewalBegan,
    RoundBegan,
    SoloDone,
    Warmed,
)
from stepmark.records.case import Case, Cell
from stepmark.records.environment import LoadFacts
from stepmark.records.evidence import Evidence
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.sample import Sample, pack, unpack
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import FlagChange, LaneTrial, LaunchTrial, ProcessFacts, SoloTrial
from tests.measure.scripted import BROKE, LAYOUT, MS, QUICK, conducted
from tests.support.properties import steady

CELL = Cell(suite="s", axes=(("features", 512),))
SOURCE = BuiltinSource(name="s")
TIMING = Timing(started=1000.0, seconds=2.5)
BEGAN = Began(pid=42, threads=3)
DEATH = Failure(
    outcome=Outcome.CRASHED, cause=Cause.SIGNAL, stage=Stage.ROUNDS, message="killed by SIGSEGV", round=1
)


def assignment(variants: Sequence[str], settings: Settings = QUICK, number: int = 7) -> LaunchAssignment:
    cases = tuple(Case(variant=variant, cell=CELL) for variant in variants)
    return LaunchAssignment(cell=CELL, number=number, cases=cases, source=SOURCE, settings=settings)


def assembled(
    events: Sequence[Event], variants: Sequence[str] = "abc", *, cut_short: bool = False
) -> LaunchTrial:
    """A shared launch."""
    everything = [BEGAN, *events]
    ended = Ended(events=everything, started_by="fork-server", output="printed\n")
    return launch_trial(
        assignment(variants),
        everything,
        processes=[ended],
        timing=TIMING,
        load=LoadFacts(time=999.0),
        cut_short=cut_short,
    )


def lane(trial: LaunchTrial, variant: str) -> LaneTrial:
    return next(lane for lane in trial.lanes if lane.variant == variant)


def test_a_whole_launch() -> None:
    events = conducted(3, "abc")
    trial = assembled([*events, Finished()])
    assert (trial.cell, trial.number, trial.seed) == (CELL, 7, f"0/{CELL.id}/7")
    assert (trial.started, trial.seconds, trial.load) == (1000.0, 2.5, LoadFacts(time=999.0))
    assert (trial.isolation, trial.cut_short, trial.output) == (Isolation.SHARED, False, "printed\n")
    rounds = [event.order for event in events if isinstance(event, RoundBegan)]
    assert trial.round_orders == tuple(rounds)
    assert sorted(trial.build_order) == sorted(trial.warmup_order) == ["a", "b", "c"]
    assert [one.variant for one in trial.lanes] == ["a", "b", "c"], "in the order of the cases"
    for one in trial.lanes:
        assert one.layout == LAYOUT
        assert one.process == ProcessFacts(pid=42, started_by="fork-server", threads=3)
        assert one.clock_seconds == 1e-7
        assert one.failure is None
        assert list(unpack(one.rounds)) == list(range(len(rounds)))
        assert one.samples == (
            Sample(phase="step", iterations=1, nanoseconds=pack([10 * MS] * len(rounds))),
            Sample(phase="forward", iterations=1, nanoseconds=pack(range(len(rounds)))),
        )


def test_the_orders_are_those_in_which_things_happened() -> None:
    events = conducted(4, "abc")
    trial = assembled(events)
    stages = {Stage.BUILD: trial.build_order, Stage.WARMUP: trial.warmup_order}
    for stage, order in stages.items():
        happened = [event.variant for event in events if isinstance(event, Entered) and event.stage is stage]
        assert list(order) == happened


def test_renewals_are_kept_apart_from_the_first_build() -> None:
    events = conducted(4, "abc", replace(QUICK, instance_seconds=0.025, max_rounds=20))
    trial = assembled(events)
    begun = [event for event in events if isinstance(event, RenewalBegan)]
    assert [(renewal.round, renewal.order) for renewal in trial.renewals] == [
        (event.number, event.order) for event in begun
    ]
    assert len(begun) >= 2
    assert sorted(trial.build_order) == ["a", "b", "c"]
    assert len(trial.round_orders) >= 10


def test_iterations_come_from_the_warm_up_that_fixed_them() -> None:
    events = [
        replace(event, iterations=(8, 2)) if isinstance(event, Warmed) else event
        for event in conducted(0, "abc")
    ]
    assert [sample.iterations for sample in assembled(events).lanes[0].samples] == [8, 2]


@steady
@given(st.integers(0, 1000), st.data())
def test_a_process_that_dies_anywhere_leaves_every_complete_block(seed: int, data: st.DataObject) -> None:
    """The engine blames whom the last word names; a block that was not reported is not there."""
    events = conducted(seed, "abc")
    before = events[: data.draw(st.integers(0, len(events)))]
    culprit = last_entered(before).variant
    trial = assembled([*before, LaneFailed(variant=culprit, failure=DEATH)], cut_short=True)
    assert trial.cut_short
    for one in trial.lanes:
        blocks = [event for event in before if isinstance(event, BlockDone) and event.variant == one.variant]
        assert list(unpack(one.rounds)) == [block.round for block in blocks]
        for index, sample in enumerate(one.samples):
            assert list(unpack(sample.nanoseconds)) == [block.nanoseconds[index] for block in blocks]
        blamed = culprit is None or one.variant == culprit
        assert one.failure == (replace(DEATH, launch=7) if blamed else None)


def test_a_death_nobody_can_be_blamed_for_ends_every_lane_that_had_not_failed_yet() -> None:
    events = conducted(1, "abc", fails={"b": (Stage.ROUNDS, 1)})
    trial = assembled([*events, LaneFailed(variant=None, failure=DEATH)])
    assert [one.failure and one.failure.message for one in trial.lanes] == [
        "killed by SIGSEGV",
        "ValueError: scripted",
        "killed by SIGSEGV",
    ]


def test_a_lane_that_raised_keeps_its_blocks_and_says_where() -> None:
    trial = assembled(conducted(1, "abc", fails={"b": (Stage.ROUNDS, 1)}))
    assert list(unpack(lane(trial, "b").rounds)) == [0]
    assert lane(trial, "b").failure == replace(BROKE, launch=7, round=1)
    assert len(unpack(lane(trial, "a").rounds)) == QUICK.max_rounds
    assert lane(trial, "a").failure is None


def test_a_lane_that_was_never_built_is_there_and_empty() -> None:
    trial = assembled(conducted(1, "abc", fails={"b": (Stage.BUILD, None)}))
    failed = lane(trial, "b")
    assert (failed.layout, failed.warmup, failed.samples, failed.rounds) == (None, None, (), b"")
    assert failed.failure == replace(BROKE, launch=7)
    assert "b" in trial.build_order
    assert "b" not in trial.warmup_order


def test_nothing_at_all_was_said() -> None:
    trial = launch_trial(
        assignment("ab"),
        [LaneFailed(variant=None, failure=DEATH)],
        processes=[Ended(events=[], started_by="spawn")],
        timing=TIMING,
        load=None,
    )
    assert [one.process for one in trial.lanes] == [None, None]
    assert all(one.failure for one in trial.lanes)
    assert (trial.build_order, trial.round_orders) == ((), ())


def test_a_block_keeps_the_number_of_its_round() -> None:
    events = [
        replace(event, round=event.round * 2) if isinstance(event, BlockDone) else event
        for event in conducted(0, "abc")
    ]
    assert list(unpack(assembled(events).lanes[0].rounds))[:3] == [0, 2, 4]


def test_flag_changes_belong_to_their_lane() -> None:
    change = FlagChange(name="threads", before="1", after="8")
    events = [*conducted(0, "abc"), FlagsChanged(variant="b", change=change)]
    assert [one.flag_changes for one in assembled(events).lanes] == [(), (change,), ()]


@pytest.mark.parametrize("num_started", [0, 1, 2, 3])
def test_separate_lanes_have_their_own_process_or_none_yet(num_started: int) -> None:
    """Stopped while the processes were being started, the later lanes have none."""
    homes = [
        Ended(events=[Began(pid=pid, threads=1)], started_by="spawn", output=f"from {pid}\n")
        for pid in range(100, 100 + num_started)
    ]
    trial = launch_trial(
        assignment("abc", replace(QUICK, isolation=Isolation.SEPARATE)),
        [],
        processes=homes,
        timing=TIMING,
        load=None,
        cut_short=True,
    )
    pids = [one.process.pid if one.process else None for one in trial.lanes]
    assert pids == [*range(100, 100 + num_started), *[None] * (3 - num_started)]
    assert trial.isolation is Isolation.SEPARATE
    assert trial.output == "".join(home.output for home in homes)


def test_the_last_thing_entered_is_where_it_died() -> None:
    assert last_entered([]) == Entered(stage=Stage.IMPORT)
    events: list[Event] = [
        Entered(stage=Stage.BUILD, variant="a"),
        BEGAN,
        Entered(stage=Stage.STEP, variant="b"),
        Finished(),
    ]
    assert last_entered(events) == Entered(stage=Stage.STEP, variant="b")


# ── solo passes ─────────────────────────────────────────────────────────────────────────────────────

CASE = Case(variant="a", cell=CELL)
DONE = SoloDone(
    evidence=Evidence(layout=LAYOUT, parameters=7),
    samples=(Sample(phase="step", iterations=1, nanoseconds=pack([5])),),
)


def solo(events: Sequence[Event], death: Failure | None = None) -> SoloTrial:
    return solo_trial(
        SoloAssignment(case=CASE, source=SOURCE, settings=QUICK),
        Ended(events=events, started_by="fork-server", output="printed\n"),
        timing=TIMING,
        death=death,
    )


def test_a_solo_pass_that_went_well() -> None:
    trial = solo([BEGAN, DONE, Finished()])
    assert (trial.case, trial.started, trial.seconds) == (CASE, 1000.0, 2.5)
    assert trial.process == ProcessFacts(pid=42, started_by="fork-server", threads=3)
    assert (trial.evidence, trial.samples) == (DONE.evidence, DONE.samples)
    assert (trial.failure, trial.output, trial.outcome) == (None, "printed\n", Outcome.MEASURED)


def test_a_solo_pass_that_raised_keeps_what_was_printed() -> None:
    trial = solo([BEGAN, LaneFailed(variant="a", failure=BROKE), Finished()])
    assert trial.failure == replace(BROKE, output="printed\n")
    assert (trial.evidence, trial.samples) == (None, ())


def test_a_solo_process_that_died_has_no_evidence_even_if_it_got_that_far() -> None:
    trial = solo([BEGAN, DONE], death=DEATH)
    assert trial.failure == replace(DEATH, output="printed\n")
    assert (trial.evidence, trial.samples) == (None, ())


def test_what_the_worker_said_itself_comes_before_how_it_ended() -> None:
    trial = solo([BEGAN, LaneFailed(variant="a", failure=BROKE)], death=DEATH)
    assert trial.outcome is BROKE.outcome
    assert trial.failure is not None
    assert trial.failure.message == BROKE.message


def test_a_process_that_never_began_has_no_facts() -> None:
    assert solo([], death=DEATH).process is None
