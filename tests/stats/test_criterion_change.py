"""Criterion's comparison of two samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray
from stepmark.stats.criterion_change import Change, Sentence, compare_samples
from tests.support.properties import samples, steady, times


def compare(new: FloatArray, old: FloatArray, *, seed: int = 0, num: int = 500) -> Change:
    return compare_samples(new, old, generator=np.random.default_rng(seed), num_resamples=num)


def lognormal(seed: int, *, level: float = 1.0, spread: float = 0.05, num: int = 100) -> FloatArray:
    return level * np.random.default_rng(seed).lognormal(0.0, spread, num)


@steady
@given(samples(times, min_size=2), samples(times, min_size=2), st.integers(0, 2**32))
def test_the_sentence_follows_from_p_value_and_interval(new: FloatArray, old: FloatArray, seed: int) -> None:
    low, point, high, p_value, sentence = compare(new, old, seed=seed)
    assert low <= high
    assert point == pytest.approx(new.mean() / old.mean() - 1.0, abs=1e-9)
    assert 0.0 <= p_value <= 1.0
    expected = Sentence.NOISE
    if p_value >= 0.05:
        expected = Sentence.NO_CHANGE
    elif high < -0.01:
        expected = Sentence.IMPROVED
    elif low > 0.01:
        expected = Sentence.REGRESSED
    assert sentence is expected


@steady
@given(samples(times, min_size=2), samples(times, min_size=2), st.integers(0, 2**32))
def test_same_seed_same_answer_whatever_the_unit(new: FloatArray, old: FloatArray, seed: int) -> None:
    """2^20 is exact in binary: nothing but the unit changes."""
    assert compare(new, old, seed=seed) == compare(new * 2.0**20, old * 2.0**20, seed=seed)


def test_examples_of_every_sentence() -> None:
    base = lognormal(1)
    assert compare(lognormal(2), base).sentence is Sentence.NO_CHANGE
    assert compare(lognormal(2, level=1.1), base).sentence is Sentence.REGRESSED
    assert compare(lognormal(2, level=0.9), base).sentence is Sentence.IMPROVED
    steady = lognormal(3, spread=0.001)
    assert compare(lognormal(4, spread=0.001, level=1.005), steady).sentence is Sentence.NOISE


def test_thresholds_can_be_set() -> None:
    new, old = lognormal(4, spread=0.001, level=1.005), lognormal(3, spread=0.001)
    generator = np.random.default_rng(0)
    found = compare_samples(new, old, generator=generator, num_resamples=500, noise_threshold=0.002)
    assert found.sentence is Sentence.REGRESSED
    found = compare_samples(new, old, generator=generator, num_resamples=500, significance=0.0)
    assert found.sentence is Sentence.NO_CHANGE


@pytest.mark.parametrize(("num_new", "num_old"), [(100, 100), (41, 80), (400, 300)])
def test_the_p_value_of_normal_samples_is_nearly_welchs(num_new: int, num_old: int) -> None:
    """400 + 300 values are more than a table of pairs may hold, 41 is an odd number of draws."""
    from scipy.stats import ttest_ind

    generator = np.random.default_rng(6)
    old = generator.normal(10.0, 1.0, num_old)
    new = generator.normal(10.0, 1.0, num_new)
    for shift in (0.0, 0.1, 0.3):
        welch = float(ttest_ind(new + shift, old, equal_var=False).pvalue)
        assert compare(new + shift, old, num=20_000).p_value == pytest.approx(welch, abs=0.02)


def test_the_p_value_is_that_of_a_bootstrap_written_out() -> None:
    """Skewed and few, where the bootstrap is not Student's distribution."""
    from scipy.stats import ttest_ind

    new, old = lognormal(7, spread=1.0, num=12), lognormal(8, spread=1.0, num=9, level=1.4)
    generator = np.random.default_rng(9)
    drawn = generator.choice(np.concatenate([new, old]), size=(20_000, 21))
    t = ttest_ind(new, old, equal_var=False).statistic
    below = np.mean(ttest_ind(drawn[:, :12], drawn[:, 12:], equal_var=False, axis=1).statistic < t)
    expected = 2.0 * min(below, 1.0 - below)
    assert compare(new, old, num=20_000).p_value == pytest.approx(expected, abs=0.02)


def test_the_interval_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    def change(new: FloatArray, old: FloatArray, axis: int = -1) -> FloatArray:
        relative: FloatArray = new.mean(axis=axis) / old.mean(axis=axis) - 1.0
        return relative

    new, old = lognormal(10, spread=0.2), lognormal(11, spread=0.4, level=1.1, num=80)
    theirs = bootstrap(
        (new, old), change, vectorized=True, method="percentile", n_resamples=20_000,
        rng=np.random.default_rng(12),
    ).confidence_interval  # fmt: skip
    ours = compare(new, old, num=100_000)
    # Only 317 resamples of the new sample stand behind the 100 000: a bound repeats to some 5 % of the width.
    width = theirs.high - theirs.low
    assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high], abs=0.12 * width)


def test_without_any_spread() -> None:
    same = compare(np.full(5, 0.1), np.full(7, 0.1))
    assert same == Change(0.0, 0.0, 0.0, 1.0, Sentence.NO_CHANGE)
    half = compare(np.full(50, 0.1), np.full(50, 0.2))
    assert half == Change(-0.5, -0.5, -0.5, 0.0, Sentence.IMPROVED)


@pytest.mark.parametrize("bad", [[1.0], [1.0, np.nan], []])
def test_refuses_what_it_cannot_compare(bad: list[float]) -> None:
    good = np.array([1.0, 2.0])
    for pair in ((np.array(bad), good), (good, np.array(bad))):
        with pytest.raises(ValueError, match="two finite values"):
            compare(*pair)


@pytest.mark.parametrize(("num_launches", "least", "most"), [(1, 0.65, 0.90), (12, 0.05, 0.20)])
def test_identical_code_in_other_processes_is_called_a_change(
    num_launches: int, least: float, most: float
) -> None:
    """Why the verdicts of stepmark are not made so: levels of processes 3 % apart, samples of one 1 %."""
    generator = np.random.default_rng(0)

    def sample() -> FloatArray:
        levels = generator.normal(0.0, 0.03, num_launches)
        return np.exp(np.resize(levels, 100) + generator.normal(0.0, 0.01, 100))

    found = [compare_samples(sample(), sample(), generator=generator, num_resamples=1000) for _ in range(300)]
    called = [change.sentence in {Sentence.IMPROVED, Sentence.REGRESSED} for change in found]
    assert least < np.mean(called) < most
