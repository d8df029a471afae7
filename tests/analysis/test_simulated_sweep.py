"""False discoveries of a sweep, in simulation: many cells, what is flagged measured again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from stepmark.analysis.against import Match, Side, give_verdicts
from stepmark.analysis.pairing import Paired
from stepmark.analysis.stopping import look_at
from stepmark.analysis.sweep import DIFFERENT, control, flags, launches_to_confirm
from stepmark.analysis.times import Times
from stepmark.analysis.trials import CaseTrials
from stepmark.records.case import Case, Cell
from stepmark.records.sample import Layout
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Look, Verdict, VerdictKind
from stepmark.stats.arrays import BoolArray, FloatArray
from stepmark.stats.fdr import beyond_margin
from stepmark.stats.sequential import looks
from tests.support.grown_runs import MARGIN
from tests.support.promised_rates import assert_above, assert_at_least, assert_at_most

POLICY = Policy()
ALPHA = 1.0 - POLICY.confidence
EDGE = 1.0 + MARGIN
STEP = Layout(phases=("step",), primary="step")


def last_look(centres: FloatArray, *, settings: Settings, num_comparisons: int) -> Look:
    """Where the rule ends a cell that may grow to these launches."""
    for num in (*looks(centres.size), centres.size):
        look = look_at(
            [centres[:num]], num, settings=settings, policy=POLICY, num_comparisons=num_comparisons
        )
        if look.early:
            break
    return look


def verdict_on(centres: FloatArray, look: Look, *, settings: Settings) -> Verdict:
    """By the code that judges; the log-ratios of a launch are its centre."""
    centres = centres[: look.launches]
    case, baseline = (
        Side(
            trials=CaseTrials(case=Case(variant=name, cell=Cell(suite="sweep"))),
            times=Times(layout=STEP, launches=(), phases=STEP.phases, seconds=np.empty((1, 0, 0))),
        )
        for name in ("candidate", "baseline")
    )
    paired = Paired(
        phases=STEP.phases,
        launches=tuple(range(centres.size)),
        logs=centres[None, :, None],
        centres=centres[None, :],
    )
    (verdict,) = give_verdicts(
        Match(case, baseline, paired=paired), policy=POLICY, settings=settings, look=look
    )
    return verdict


class Sweep(NamedTuple):
    """Which comparisons were called FASTER or SLOWER: at first sight, and in the end."""

    first: BoolArray
    last: BoolArray


def sweep(truths: FloatArray, *, spread: float, most: int, generator: np.random.Generator) -> Sweep:
    """One cell for each true ratio; every cell grows to its own end, and flagged ones are measured again."""
    settings = Settings(launches=most)
    centres = generator.normal(np.log(truths)[:, None], spread, (truths.size, most))
    ends = [last_look(own, settings=settings, num_comparisons=truths.size) for own in centres]
    verdicts = [verdict_on(own, look, settings=settings) for own, look in zip(centres, ends, strict=True)]
    fresh: list[FloatArray | None] = [None] * truths.size
    for place, flagged in enumerate(flags(verdicts, policy=POLICY)):
        if flagged:
            num = launches_to_confirm({"cell": ends[place].launches}, settings)["cell"]
            fresh[place] = generator.normal(np.log(truths[place]), spread, num)
    judged = control(verdicts, fresh, policy=POLICY, confirm=True)
    return Sweep(*(np.array([each.kind in DIFFERENT for each in some]) for some in (verdicts, judged)))


def sweeps(
    truths: FloatArray, *, spread: float, most: int, num_sweeps: int, seed: int
) -> tuple[BoolArray, BoolArray]:
    """Sweep by cell: at first sight, and in the end."""
    generator = np.random.default_rng(seed)
    made = [sweep(truths, spread=spread, most=most, generator=generator) for _ in range(num_sweeps)]
    return np.array([each.first for each in made]), np.array([each.last for each in made])


@pytest.mark.parametrize(
    ("truth", "spread", "most"),
    [(1.0, 0.057, 10), (EDGE, 0.005, 20)],
    ids=["identical, separate processes", "on the edge of the margin"],
)
def test_a_sweep_of_a_hundred_cells_without_a_difference_names_none(
    truth: float, spread: float, most: int
) -> None:
    first, last = sweeps(np.full(100, truth), spread=spread, most=most, num_sweeps=40, seed=61)
    assert_above(0.4, np.any(first, axis=1))
    assert_at_most(ALPHA, np.any(last, axis=1))


def test_fresh_launches_alone_would_stop_most_false_alarms() -> None:
    """Few cells, where many comparisons are no objection: what is flagged is confirmed in one of twenty."""
    first, last = sweeps(np.ones(2), spread=0.057, most=5, num_sweeps=1000, seed=62)
    assert first.any()
    assert_at_most(0.1, last[first])
    assert_at_most(0.003, last)


@pytest.mark.parametrize("others", [1.0, EDGE])
def test_of_the_discoveries_of_a_mixed_sweep_few_are_false_and_the_real_ones_are_kept(others: float) -> None:
    truths = np.concatenate([np.full(10, 1.03), np.full(90, others)])
    _, last = sweeps(truths, spread=0.005, most=20, num_sweeps=30, seed=63)
    assert_at_least(0.99, last[:, :10])
    false, all_found = last[:, 10:].sum(axis=1), np.maximum(last.sum(axis=1), 1)
    shares = false / all_found
    tolerance = 3.0 * shares.std(ddof=1) / np.sqrt(shares.size)
    assert shares.mean() <= ALPHA + tolerance


def test_a_confirmed_slowdown_is_called_slower() -> None:
    generator, settings = np.random.default_rng(64), Settings(launches=20)
    centres = generator.normal(np.log(1.03), 0.005, 20)
    verdict = verdict_on(centres, last_look(centres, settings=settings, num_comparisons=1), settings=settings)
    (judged,) = control([verdict], [generator.normal(np.log(1.03), 0.005, 10)], policy=POLICY, confirm=True)
    assert judged.kind is VerdictKind.SLOWER


@pytest.mark.parametrize("truth", [1.0, EDGE])
@pytest.mark.parametrize("error", [0.002, 0.01, 0.05], ids="standard error {}".format)
def test_p_values_are_valid(truth: float, error: float) -> None:
    """Where the truth is inside the margin, at most a share of a of them is below a."""
    num = 20
    runs = np.random.default_rng(65).normal(np.log(truth), error * np.sqrt(num), (10_000, num))
    errors = runs.std(axis=1, ddof=1) / np.sqrt(num)
    p_values = np.array(
        [
            beyond_margin(point, own, num, margin=float(np.log1p(MARGIN)))
            for point, own in zip(runs.mean(axis=1).tolist(), errors.tolist(), strict=True)
        ]
    )
    for level in (0.05, 0.01):
        assert_at_most(level, p_values <= level)
