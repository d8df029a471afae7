"""Two recordings that were not interleaved: pairs, refusals, verdicts, and what the history knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.run_comparison import compare_runs
from stepmark.analysis.run_history import ASSUMED
from stepmark.errors import UsageError
from stepmark.records.case import Cache, Cell, Execution
from stepmark.records.comparison import Aspect, Centre, Comparison, Standing, Terms
from stepmark.records.environment import RepositoryFacts
from stepmark.records.estimate import Method
from stepmark.records.run import Recording
from stepmark.records.settings import Isolation, Policy
from stepmark.records.source import FileSource
from stepmark.records.verdict import Reason, VerdictKind
from tests.support.properties import steady
from tests.support.recordings import QUIET, Noise, fail_lane, fail_solo, make_recording
from tests.support.trials import FORWARD

FASTER, SLOWER = VerdictKind.FASTER, VerdictKind.SLOWER
EQUIVALENT, INCONCLUSIVE, INVALID = VerdictKind.EQUIVALENT, VerdictKind.INCONCLUSIVE, VerdictKind.INVALID


def recorded(number: int, *, factor: float = 1.0, commit: str = "a", **options: object) -> Recording:
    """A run of one committed bench file, `factor` slower than the others."""
    options = {"variants": {"dense": factor, "mine": 2.0 * factor}, "seed": number} | options
    recording = make_recording(**options)  # type: ignore[arg-type]
    run = recording.run
    environment = replace(run.environment, repository=RepositoryFacts(commit=commit * 40, dirty=False))
    source = FileSource(path="/x/bench_mine.py")
    return replace(
        recording,
        run=replace(
            run, id=f"run-{number}", sources=(source,), environment=environment, started=run.started + number
        ),
    )


def history(
    num: int, *, commit: str = "a", mood: float = 0.0, seed: int = 0, **options: object
) -> list[Recording]:
    generator = np.random.default_rng(seed)
    moods = np.exp(generator.normal(0.0, mood, num))
    return [recorded(100 + n, factor=float(moods[n]), commit=commit, **options) for n in range(num)]


def kinds(comparison: Comparison) -> list[VerdictKind]:
    return [case.primary.kind for case in comparison.cases]


def with_dtype(recording: Recording, dtype: str) -> Recording:
    return moved_cells(recording, dtype=dtype)


def with_both(recording: Recording, dtype: str) -> Recording:
    """The run with each of its cases in another dtype too."""
    other = with_dtype(recording, dtype)
    return replace(
        recording,
        run=replace(recording.run, cases=recording.run.cases + other.run.cases),
        solos=recording.solos + other.solos,
        launches=recording.launches + other.launches,
    )


def moved_cells(recording: Recording, **change: object) -> Recording:
    def moved(cell: Cell) -> Cell:
        return replace(cell, **change)

    cases = tuple(replace(case, cell=moved(case.cell)) for case in recording.run.cases)
    solos = tuple(
        replace(solo, case=replace(solo.case, cell=moved(solo.case.cell))) for solo in recording.solos
    )
    launches = tuple(replace(launch, cell=moved(launch.cell)) for launch in recording.launches)
    return replace(recording, run=replace(recording.run, cases=cases), solos=solos, launches=launches)


def test_every_verdict_says_that_it_is_unpaired() -> None:
    comparison = compare_runs(recorded(1), recorded(2, factor=1.5))
    for case in comparison.cases:
        for phase in case.phases:
            assert Reason.UNPAIRED in phase.reasons
            assert phase.ratio is not None
            assert phase.ratio.method is Method.WELCH_LAUNCHES
    assert kinds(comparison) == [SLOWER, SLOWER]
    assert [case.primary.phase for case in comparison.cases] == ["step", "step"]
    assert {phase.phase for phase in comparison.cases[0].phases} == {
        *("step", "forward", "loss", "backward", "optimizer")
    }


@steady
@given(st.floats(0.5, 2.0), st.integers(0, 50))
def test_the_other_way_round_is_the_opposite(factor: float, seed: int) -> None:
    one, other = recorded(1, seed=seed), recorded(2, seed=seed + 1, factor=factor)
    there, back = compare_runs(one, other), compare_runs(other, one)
    opposite = {FASTER: SLOWER, SLOWER: FASTER}
    assert [opposite.get(kind, kind) for kind in kinds(there)] == kinds(back)
    for first, second in zip(there.cases, back.cases, strict=True):
        assert first.primary.ratio is not None
        assert second.primary.ratio is not None
        assert first.primary.ratio.point == pytest.approx(1.0 / second.primary.ratio.point)


@pytest.mark.parametrize("centre", Centre)
def test_without_history_small_differences_stay_inconclusive(centre: Centre) -> None:
    """However still the launches: the spread between runs is assumed, and no assumption says EQUIVALENT."""
    terms = Terms(centre=centre)
    for factor in (1.0, 1.03, 1.05):
        still = compare_runs(
            recorded(1, noise=QUIET), recorded(2, noise=QUIET, factor=factor, commit="b"), terms=terms
        )
        assert kinds(still) == [INCONCLUSIVE, INCONCLUSIVE]
        assert all(case.primary.spread is not None for case in still.cases)
        spread = still.cases[0].primary.spread
        assert spread is not None
        assert (spread.known, spread.deviation) == (False, ASSUMED[centre])
    large = compare_runs(recorded(1, noise=QUIET), recorded(2, noise=QUIET, factor=1.3), terms=terms)
    assert kinds(large) == [SLOWER, SLOWER]


def test_a_history_of_unchanged_code_makes_small_differences_visible() -> None:
    steady_machine = Noise(process=0.002, instance=0.001, round=0.002)
    old = recorded(1, noise=steady_machine)
    new = recorded(2, noise=steady_machine, factor=1.03, commit="b")
    past = history(6, noise=steady_machine)
    assert kinds(compare_runs(old, new)) == [INCONCLUSIVE, INCONCLUSIVE]
    informed = compare_runs(old, new, history=past)
    assert kinds(informed) == [SLOWER, SLOWER]
    spread = informed.cases[0].primary.spread
    assert spread is not None
    assert spread.num_runs == 7  # the six, and the baseline, whose code they share
    same = compare_runs(old, recorded(3, noise=steady_machine, commit="b"), history=past)
    assert kinds(same) == [EQUIVALENT, EQUIVALENT]


def test_a_restless_history_makes_the_interval_wider() -> None:
    old, new = recorded(1, noise=QUIET), recorded(2, noise=QUIET, factor=1.08, commit="b")
    assert kinds(compare_runs(old, new)) == [SLOWER, SLOWER]
    restless = compare_runs(old, new, history=history(4, noise=QUIET, mood=0.1))
    assert kinds(restless) == [INCONCLUSIVE, INCONCLUSIVE]


def test_two_runs_of_each_of_two_commits_are_enough() -> None:
    past = [
        *history(1, commit="a"),
        *(replace(r, run=replace(r.run, id="b2")) for r in history(1, commit="b")),
    ]
    spread = compare_runs(recorded(1), recorded(2, commit="b"), history=past).cases[0].primary.spread
    assert spread is not None
    assert spread.num_runs == 4


def test_a_run_that_holds_both_cases_of_a_pair_counts_once() -> None:
    """Compared across dtypes: the second case of a run shares the mood of the first."""
    past = [with_both(recording, "bfloat16") for recording in history(3)]
    old, new = recorded(1), with_dtype(recorded(2, commit="b"), "bfloat16")
    # Work too: the evidence of these made-up runs has float32 tensors whatever the cell's dtype.
    comparison = compare_runs(old, new, history=past, terms=Terms(allow=(Aspect.DTYPE, Aspect.WORK)))
    spreads = [case.primary.spread for case in comparison.cases]
    assert [spread.num_runs for spread in spreads if spread is not None] == [4, 4]


@pytest.mark.parametrize(
    "past",
    [
        history(1),
        [],
        [
            replace(
                r,
                run=replace(
                    r.run,
                    environment=replace(
                        r.run.environment, repository=RepositoryFacts(commit="a" * 40, dirty=True)
                    ),
                ),
            )
            for r in history(5)
        ],
        [recorded(100 + n, num_launches=1) for n in range(5)],
    ],
    ids=["too few", "none", "dirty", "one launch each"],
)
def test_a_history_that_does_not_tell(past: Sequence[Recording]) -> None:
    spread = compare_runs(recorded(1), recorded(2, commit="b"), history=past).cases[0].primary.spread
    assert spread is not None
    assert not spread.known


def test_two_runs_of_the_same_commit_are_not_their_own_history() -> None:
    """A library that no commit names may have changed: a jump of 40 % must not hide in its own spread."""
    comparison = compare_runs(recorded(1), recorded(2, factor=1.4), history=history(4))
    assert kinds(comparison) == [SLOWER, SLOWER]


def test_the_machine_must_agree_unless_it_is_allowed() -> None:
    old, new = recorded(1), recorded(2, factor=1.5)
    host = replace(new.run.environment.host, hostname="other")
    moved = replace(new, run=replace(new.run, environment=replace(new.run.environment, host=host)))
    refused = compare_runs(old, moved)
    assert refused.refused
    assert kinds(refused) == [INVALID, INVALID]
    assert refused.cases[0].primary.ratio is None
    assert refused.cases[0].primary.baseline_seconds is not None
    allowed = compare_runs(old, moved, terms=Terms(allow=(Aspect.MACHINE,)))
    assert kinds(allowed) == [SLOWER, SLOWER]
    assert [each.standing for each in allowed.differences] == [Standing.ALLOWED]


def test_another_dtype_is_refused_by_name_not_lost() -> None:
    comparison = compare_runs(recorded(1), with_dtype(recorded(2), "bfloat16"))
    assert kinds(comparison) == [INVALID, INVALID]
    assert comparison.only_baseline == comparison.only_candidate == ()
    (dtype, *_) = comparison.cases[0].differences
    assert (dtype.aspect, dtype.baseline, dtype.candidate) == (Aspect.DTYPE, "float32", "bfloat16")


def test_another_execution_is_refused_and_another_cache_is_no_pair_at_all() -> None:
    graphs = moved_cells(recorded(2), execution=Execution.GRAPH)
    comparison = compare_runs(recorded(1), graphs)
    assert kinds(comparison) == [INVALID, INVALID]
    (execution, *_) = comparison.cases[0].differences
    assert (execution.aspect, execution.candidate) == (Aspect.EXECUTION, "graph")
    with pytest.raises(UsageError, match="have no case in common"):
        compare_runs(recorded(1), moved_cells(recorded(2), cache=Cache.COLD))


def test_other_work_is_refused_for_its_case_alone() -> None:
    old, new = recorded(1), recorded(2, factor=1.5)
    solos = tuple(
        replace(solo, evidence=replace(solo.evidence, parameters=7))
        if solo.case.variant == "mine" and solo.evidence
        else solo
        for solo in new.solos
    )
    comparison = compare_runs(old, replace(new, solos=solos))
    assert kinds(comparison) == [SLOWER, INVALID]
    assert {each.aspect for each in comparison.cases[1].differences} == {Aspect.WORK}


def test_other_phases_are_other_work_and_allowed_they_share_what_they_share() -> None:
    old, new = recorded(1), recorded(2, layout=FORWARD)
    assert kinds(compare_runs(old, new)) == [INVALID, INVALID]
    allowed = compare_runs(old, new, terms=Terms(allow=(Aspect.WORK,)))
    assert [phase.phase for phase in allowed.cases[0].phases] == ["forward"]
    assert allowed.cases[0].primary.ratio is not None
    back = compare_runs(new, old, terms=Terms(allow=(Aspect.WORK,)))
    assert back.cases[0].primary.reasons[0] is Reason.PHASES_DIFFER


def test_separate_processes_are_another_isolation() -> None:
    comparison = compare_runs(recorded(1), recorded(2, isolation=Isolation.SEPARATE))
    assert {each.aspect for each in comparison.cases[0].differences} == {Aspect.ISOLATION}
    assert kinds(comparison) == [INVALID, INVALID]


def test_company_is_named() -> None:
    more = recorded(2, variants={"dense": 1.0, "mine": 2.0, "third": 1.0})
    comparison = compare_runs(recorded(1), more)
    (company,) = comparison.cases[0].differences
    assert (company.aspect, company.standing) == (Aspect.COMPANY, Standing.NAMED)
    assert comparison.only_candidate == ("synthetic/third[features=512]/cpu/float32/train",)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (recorded(1), fail_solo(recorded(2), "mine"), Reason.CASE_FAILED),
        (fail_solo(recorded(1), "mine"), recorded(2), Reason.BASELINE_FAILED),
        (recorded(1), fail_lane(recorded(2), "mine", launch=1, keep=4), Reason.CASE_FAILED),
        (recorded(1), replace(recorded(2), launches=(), solos=()), Reason.NOT_MEASURED),
    ],
)
def test_what_failed_is_invalid_and_its_work_is_not_said_to_differ(
    old: Recording, new: Recording, reason: Reason
) -> None:
    case = compare_runs(old, new).cases[1]
    assert case.primary.kind is INVALID
    assert reason in case.primary.reasons
    assert {each.aspect for each in case.differences} <= {Aspect.COMPANY}


def test_one_launch_shows_levels_and_decides_nothing() -> None:
    case = compare_runs(recorded(1, num_launches=1), recorded(2, factor=3.0)).cases[0]
    assert case.primary.kind is INCONCLUSIVE
    assert case.primary.reasons[0] is Reason.ONE_LAUNCH
    assert case.primary.ratio is None
    assert case.primary.candidate_seconds is not None


def test_a_run_with_longer_launches_is_not_faster_for_it() -> None:
    """The minimum is that of as many rounds in both."""
    noise = Noise(process=0.0, instance=0.0, round=0.03)
    comparison = compare_runs(
        recorded(1, num_rounds=10, num_launches=30, noise=noise, layout=FORWARD),
        recorded(2, num_rounds=300, num_launches=30, noise=noise, layout=FORWARD),
    )
    ratio = comparison.cases[0].primary.ratio
    assert ratio is not None
    assert ratio.point == pytest.approx(1.0, abs=0.005)


def test_a_launch_cut_short_does_not_decide_how_many_rounds_count() -> None:
    full = recorded(2, num_launches=6)
    lanes = tuple(
        replace(
            lane,
            rounds=lane.rounds[:8],
            samples=tuple(replace(s, nanoseconds=s.nanoseconds[:8]) for s in lane.samples),
        )
        for lane in full.launches[0].lanes
    )
    cut = replace(full, launches=(replace(full.launches[0], lanes=lanes, cut_short=True), *full.launches[1:]))
    case = compare_runs(recorded(1), cut).cases[0]
    assert case.primary.candidate_launches == 5


def test_nothing_in_common() -> None:
    with pytest.raises(UsageError, match="no case in common"):
        compare_runs(recorded(1), recorded(2, suite="another"))


def test_the_margin_is_the_terms_own() -> None:
    terms = Terms(policy=Policy(margin=0.9))
    assert kinds(compare_runs(recorded(1), recorded(2, factor=1.5), terms=terms)) == [EQUIVALENT, EQUIVALENT]


def test_identical_code_on_a_wandering_machine_is_seldom_called_different() -> None:
    """The whole way from recordings to verdicts: runs wander by 2 %, launches by 3 %."""
    generator = np.random.default_rng(20270115)
    alarms = 0
    for trial in range(60):
        moods = np.exp(generator.normal(0.0, 0.02, 6))
        old, new, *past = (
            recorded(
                10 * trial + n,
                factor=float(mood),
                commit="ab"[n == 1],
                num_rounds=5,
                layout=FORWARD,
                num_launches=6,
            )
            for n, mood in enumerate(moods)
        )
        found = kinds(compare_runs(old, new, history=past))
        alarms += any(kind in (FASTER, SLOWER) for kind in found)
    assert alarms <= 3  # 5 % of 60; the margin makes it about 1 %
