"""The noise of a machine, from runs that repeat each other."""

from __future__ import annotations

import numpy as np
import pytest

from stepmark.analysis.machine_noise import noise_of_machine
from stepmark.records.run_summary import RunLevel


def levels(
    deviation: float,
    *,
    num_codes: int,
    num_runs: int,
    num_cases: int = 2,
    error: float = 0.0,
    generator: np.random.Generator | None = None,
) -> list[RunLevel]:
    """Codes have levels of their own; their runs wander about them, all cases of a run alike, and what
    launches leave of a case is its own."""
    generator = generator or np.random.default_rng(3)
    moods = generator.normal(0.0, deviation, (num_codes, num_runs))
    return [
        RunLevel(
            code=f"code {code}",
            case=f"case {case}",
            run=f"run {code} {run}",
            level=float(code) + moods[code, run] + generator.normal(0.0, error**0.5),
            error=error,
        )
        for code in range(num_codes)
        for case in range(num_cases)
        for run in range(num_runs)
    ]


@pytest.mark.parametrize("error", [0.0, 4e-4])
def test_the_spread_is_found_whatever_the_code(error: float) -> None:
    spread = noise_of_machine(levels(0.03, num_codes=40, num_runs=5, error=error))
    assert spread is not None
    assert spread.deviation == pytest.approx(0.03, rel=0.2)
    assert spread.num_runs == 200


def test_runs_that_nobody_repeated_say_nothing() -> None:
    assert noise_of_machine([]) is None
    assert noise_of_machine(levels(0.03, num_codes=50, num_runs=1)) is None


@pytest.mark.parametrize("num_cases", [1, 10])
@pytest.mark.parametrize(
    ("num_codes", "num_runs", "enough"), [(1, 2, False), (1, 3, True), (2, 2, True), (3, 1, False)]
)
def test_three_runs_of_one_code_or_two_of_each_of_two_however_many_cases_they_have(
    num_codes: int, num_runs: int, num_cases: int, *, enough: bool
) -> None:
    spread = noise_of_machine(levels(0.03, num_codes=num_codes, num_runs=num_runs, num_cases=num_cases))
    assert (spread is not None) == enough


@pytest.mark.parametrize(("num_codes", "num_runs"), [(1, 3), (2, 2), (2, 4)])
def test_the_variance_is_as_uncertain_as_so_many_runs_make_it(num_codes: int, num_runs: int) -> None:
    """Of d degrees of freedom it has the relative variance 2 / d: of runs less codes, though every run has
    ten cases. Counted by cases, d would be ten times that."""
    generator = np.random.default_rng(5)
    found = []
    for _ in range(2000):
        simulated = levels(0.03, num_codes=num_codes, num_runs=num_runs, num_cases=10, generator=generator)
        spread = noise_of_machine(simulated)
        assert spread is not None
        found.append(spread.deviation**2)
    assert np.mean(found) == pytest.approx(0.03**2, rel=0.1)
    assert np.var(found) / np.mean(found) ** 2 == pytest.approx(2 / (num_codes * (num_runs - 1)), rel=0.2)
