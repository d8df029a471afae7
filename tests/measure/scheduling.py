"""What tests of the schedule share: small runs, what becomes of assignments, and carrying a run out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.referee import Referee
from stepmark.measure.schedule import Schedule
from stepmark.records.outcome import Stage
from stepmark.records.run import Run
from stepmark.records.settings import Settings
from stepmark.records.trial import LaunchTrial, Role, Trial
from tests.support.recordings import make_run
from tests.support.trials import make_failure, make_lane, make_launch, make_solo

quick = settings(max_examples=50)

Fate = Callable[[Assignment], Trial]
"""What becomes of an assignment."""


def run_of(cells: int = 2, variants: str = "ab", launches: int = 3, **more: Any) -> Run:
    axes = {"features": tuple(range(cells))}
    return make_run(variants=tuple(variants), axes=axes, settings=Settings(launches=launches, **more))


def fine(assignment: Assignment) -> Trial:
    match assignment:
        case SoloAssignment():
            return make_solo(assignment.case)
        case LaunchAssignment():
            lanes = [make_lane(case.variant, {}) for case in assignment.cases]
            return make_launch(
                assignment.cell,
                lanes,
                number=assignment.number,
                role=assignment.role,
                isolation=assignment.settings.isolation,
            )


def carry_out(
    run: Run, fate: Fate = fine, past: Sequence[Trial] = (), referee: Referee | None = None
) -> tuple[list[Assignment], list[Trial]]:
    """Everything assigned and everything that came back, to the end."""
    schedule = Schedule(run, past, referee)
    assigned: list[Assignment] = []
    trials: list[Trial] = []
    while (assignment := schedule.next(0.0)) is not None:
        assert len(assigned) < 2000, "it must end"
        trial = fate(assignment)
        schedule.note(trial)
        assigned.append(assignment)
        trials.append(trial)
        done, total = schedule.progress
        assert done == len(past) + len(trials) <= total
    assert schedule.progress[0] == schedule.progress[1], "nothing is left"
    return assigned, trials


def launches(assigned: Sequence[Assignment], *roles: Role) -> list[LaunchAssignment]:
    """The launches with these roles, or all."""
    return [one for one in assigned if isinstance(one, LaunchAssignment) and (not roles or one.role in roles)]


sizes = st.builds(
    run_of,
    cells=st.integers(1, 4),
    variants=st.sampled_from(["a", "ab", "abc"]),
    launches=st.integers(1, 7),
    pilot=st.integers(0, 5),
    alone=st.integers(0, 2),
    seed=st.integers(0, 100),
)


@st.composite
def fates(draw: st.DrawFn, usual: Fate = fine) -> Fate:
    """Now and then a solo fails, a lane fails, or a launch is cut short with a culprit."""
    dice = draw(st.lists(st.integers(0, 9), min_size=1, max_size=60))
    rolls = chain(dice, count(5, 0))

    def fate(assignment: Assignment) -> Trial:
        trial, roll = usual(assignment), next(rolls)
        if isinstance(assignment, SoloAssignment):
            return make_solo(assignment.case, failure=make_failure()) if roll == 0 else trial
        assert isinstance(trial, LaunchTrial)
        if roll > 2:
            return trial
        failed = replace(trial.lanes[roll % len(trial.lanes)], failure=make_failure(stage=Stage.ROUNDS))
        lanes = tuple(failed if lane.variant == failed.variant else lane for lane in trial.lanes)
        return replace(trial, lanes=lanes, cut_short=roll != 2)

    return fate
