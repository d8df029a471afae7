"""The noise of a machine, from runs that repeat each other."""

from __future__ import annotations

import numpy as np
import pytest

from stepmark.analysis.machine_noise import noise_of_machine
from stepmark.records.run_summary import RunLevel


def levels(deviation: float, *, num_codes: int, num_runs: int, error: float = 0.0) -> list[RunLevel]:
    """Codes have levels of their own; their runs wander about them."""
    generator = np.random.default_rng(3)
    return [
        RunLevel(
            code=f"code {code}",
            case=case,
            run=f"run {code} {run}",
            level=float(code) + generator.normal(0.0, (deviation**2 + error) ** 0.5),
            error=error,
        )
        for code in range(num_codes)
        for case in ("a", "b")
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


def test_one_repetition_of_one_case_is_too_little() -> None:
    pair = [level for level in levels(0.03, num_codes=1, num_runs=2) if level.case == "a"]
    assert noise_of_machine(pair) is None
