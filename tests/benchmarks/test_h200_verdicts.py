"""The GPU study's doses and summary, without a GPU: what is counted, and what is said of it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.h200.verdict_doses import LEAST_PAIRS, MOST_PAIRS, paired_excess, settled
from benchmarks.h200.verdict_workloads import LEAST, WORKLOADS, Workload, slowed
from benchmarks.h200.verdicts import summary
from stepmark.instruments.graph_capture import REPEATS

DOSE = 0.02


def test_an_amount_is_corrected_until_it_makes_the_dose() -> None:
    amount = settled(lambda amount: amount * 1e-5, 500, DOSE)
    assert amount == 2000


def test_where_nothing_is_seen_the_amount_grows() -> None:
    seen: list[int] = []

    def excess(amount: int) -> float:
        seen.append(amount)
        return -0.003 if amount < 800 else amount * 1e-5

    assert settled(excess, 250, DOSE) == 2000
    assert seen[:2] == [250, 1000]


def test_an_amount_that_never_shows_ends_after_some_tries() -> None:
    tried: list[int] = []
    settled(lambda amount: tried.append(amount) or -0.001, 1, DOSE)  # type: ignore[func-returns-value]
    assert 1 < len(tried) < 10


def test_the_nearest_amount_is_taken_where_none_is_close() -> None:
    steps = {True: 0.05, False: 0.018}
    assert settled(lambda amount: steps[amount > 1000], 900, DOSE) <= 1000


def test_pairs_are_added_until_they_are_certain() -> None:
    """A steady pair needs the fewest, a scattered one more; a disturbed pair moves nothing."""
    steady, error = paired_excess(lambda: 1.0, lambda: 1.02, precision=0.002)
    assert (round(steady, 6), error) == (0.02, 0.0)
    calls = itertools.count()
    scatter = itertools.cycle([1.02, 1.05, 0.99, 1.02, 9.0])

    def other() -> float:
        next(calls)
        return next(scatter)

    middle, error = paired_excess(lambda: 1.0, other, precision=1e-9)
    assert (round(middle, 6), next(calls)) == (0.02, MOST_PAIRS)
    assert 0 < error < 0.01
    assert LEAST_PAIRS < MOST_PAIRS


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Cycles of each spinning kernel, in order."""
    cycles: list[int] = []
    monkeypatch.setattr(torch.cuda, "_sleep", cycles.append)
    return cycles


def call_of(workload: Workload, amount: int, *, times: int) -> None:
    call = slowed(workload, torch.device("cpu"), amount)
    for _ in range(times):
        call()


NOTHING = Workload(lambda device: lambda: None, graph=True, calls_a_dose=REPEATS)


@pytest.mark.parametrize("warm_up", range(REPEATS + 1))
def test_a_graph_holds_one_dose_whatever_came_before(slept: list[int], warm_up: int) -> None:
    call_of(NOTHING, 120, times=warm_up + REPEATS)
    captured = slept[warm_up:]
    assert sorted(captured) == [LEAST] * (REPEATS - 1) + [LEAST + REPEATS * 120]
    assert sum(captured) / REPEATS == LEAST + 120, "of a call on the mean"


def test_the_baseline_launches_the_same_kernels(slept: list[int]) -> None:
    call_of(NOTHING, 0, times=2 * REPEATS)
    assert slept == [LEAST] * 2 * REPEATS


def test_two_sides_keep_counts_of_their_own(slept: list[int]) -> None:
    first, second = (slowed(NOTHING, torch.device("cpu"), amount) for amount in (1, 2))
    for _ in range(REPEATS):
        first()
        second()
    assert sum(slept) == 2 * REPEATS * LEAST + REPEATS * (1 + 2)


@pytest.mark.parametrize("name", WORKLOADS)
def test_only_operations_whose_graph_holds_many_calls_share_a_dose(name: str) -> None:
    """A step may take SHORT from Python, and its graph then holds one: with all of the dose, or with none."""
    workload = WORKLOADS[name]
    shares = workload.graph and not name.startswith("step")
    assert workload.calls_a_dose == (REPEATS if shares else 1)


def test_where_doses_are_not_shared_every_call_has_its_own(slept: list[int]) -> None:
    call_of(Workload(lambda device: lambda: None), 120, times=3)
    assert slept == [LEAST + 120] * 3
    call_of(Workload(lambda device: lambda: None, on_host=True), 120, times=3)
    assert len(slept) == 3, "turns of the host"


def test_the_summary_tells_doses_apart_and_drops_none(tmp_path: Path) -> None:
    rows = [
        _compared("identical", EQUIVALENT={"copy1": 1.0}, INCONCLUSIVE={"copy2": 1.01}),
        _compared("slowed", counted=0.021, SLOWER={"slowed": 1.02}),
        _compared("slowed", counted=0.019, INCONCLUSIVE={"slowed": 1.02}),
        _compared("slowed", counted=-0.003, INCONCLUSIVE={"slowed": 1.014}),
    ]
    (tmp_path / "verdicts-1-of-1.json").write_text(json.dumps({"rows": rows}))
    lines = [*summary(tmp_path)]
    assert lines[0].startswith("identical code called FASTER or SLOWER: 0 of 2 [")
    assert lines[1].startswith("  in runs, whose copies share a baseline: 0 of 1 [")
    assert lines[2].startswith("a dose of 2% called SLOWER: 1 of 3 [")
    assert lines[3].startswith("  counted at 1.5% or more: 1 of 2 [")
    assert lines[4].startswith("  counted at less: 0 of 1 [")
    assert [line for line in lines if "counted -0.30% (below 1.5%)" in line]
    assert len(lines) == 5 + len(rows)


def test_without_slowed_comparisons_there_is_no_rate(tmp_path: Path) -> None:
    rows = [_compared("identical", EQUIVALENT={"copy1": 1.0})]
    (tmp_path / "verdicts-1-of-1.json").write_text(json.dumps({"rows": rows}))
    assert [*summary(tmp_path)][2] == "a dose of 2% called SLOWER: none"


def _compared(kind: str, *, counted: float | None = None, **verdicts: dict[str, float]) -> dict[str, Any]:
    found = {
        variant: {"kind": verdict, "ratio": [ratio, ratio - 0.01, ratio + 0.01]}
        for verdict, variants in verdicts.items()
        for variant, ratio in variants.items()
    }
    row = {"kind": kind, "workload": "toy", "levels": {"base": {"us": 5.0, "bound": "device"}}}
    dose = {} if counted is None else {"dose": {"counted": counted}}
    return row | dose | {"verdicts": found}
