"""Which conditions a round of the study runs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.verdicts.conditions import EFFECTS, WORKLOADS, all_conditions, chosen, plan_round, remaining
from benchmarks.verdicts.results import OURS, Load

CONDITIONS = all_conditions()


@given(st.integers(0, 100), st.integers(1, 12))
def test_after_any_number_of_rounds_counts_follow_the_weights(seed: int, rounds: int) -> None:
    counts = Counter(c for number in range(rounds) for c in plan_round(CONDITIONS, number, seed=seed))
    for condition, weight in CONDITIONS.items():
        assert abs(counts[condition] - rounds * weight) < 1.0 + 1e-9


@given(st.integers(0, 100), st.integers(0, 20), st.data())
def test_a_round_that_was_cut_off_goes_on_where_it_was(seed: int, number: int, data: st.DataObject) -> None:
    planned = plan_round(CONDITIONS, number, seed=seed)
    there = data.draw(st.integers(0, len(planned)))
    done = [(number, condition.id) for condition in planned[:there]] + [(number + 1, planned[0].id)]
    left = remaining(CONDITIONS, done, number, seed=seed)
    assert Counter(left) == Counter(planned[there:])


def test_rounds_have_different_orders_and_a_seed_repeats_them() -> None:
    first, second = (plan_round(CONDITIONS, number, seed=3) for number in (0, 1))
    assert first == plan_round(CONDITIONS, 0, seed=3)
    assert [c for c in first if c in second] != [c for c in second if c in first]


def test_ids_are_unique() -> None:
    assert len({condition.id for condition in CONDITIONS}) == len(CONDITIONS)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("load", Load)
def test_every_size_is_injected_everywhere(threads: int, load: Load) -> None:
    ours = [c for c in CONDITIONS if c.tool == OURS and (c.threads, c.load) == (threads, load)]
    assert {(c.workload, c.effect) for c in ours} == {(w, e) for w in WORKLOADS for e in (0.0, *EFFECTS)}


def test_patterns_choose() -> None:
    found = chosen(CONDITIONS, ["pyperf/*", "stepmark/lora/1/quiet/0"])
    assert {condition.tool for condition in found} == {"pyperf", OURS}
    assert len([condition for condition in found if condition.tool == OURS]) == 1
