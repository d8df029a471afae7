"""The chain of a peer's visit, and the peers' own rules."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.peers.visit import neighbours
from benchmarks.verdicts.rules import RULES, Answer, Rule
from tests.benchmarks.synthetic import side

PACKAGES = {"pyperf": "pyperf", "pytest-benchmark": "pytest_benchmark", "asv": "asv"}


@pytest.mark.parametrize("backwards", [False, True])
def test_neighbours_are_compared_and_the_slowed_side_is_the_new_one(*, backwards: bool) -> None:
    base, again, slowed = side(1.0), side(1.01), side(1.03, effect=0.03)
    sides = [slowed, again, base] if backwards else [base, again, slowed]
    pairs = neighbours(sides)
    identical = (again, base) if backwards else (base, again)
    assert sorted(pairs, key=lambda pair: pair[1].effect) == [identical, (again, slowed)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.tool}-{rule.statistic}")
def test_what_a_rule_says(rule: Rule) -> None:
    if rule.tool in PACKAGES:
        pytest.importorskip(PACKAGES[rule.tool])
    old = side(1.0, spread=0.01)
    assert rule.decide(old, side(1.0001, spread=0.01)) is Answer.SAME
    assert rule.decide(old, side(1.3, spread=0.01)) is Answer.SLOWER
    one_sided = rule.tool == "pytest-benchmark"
    assert rule.decide(old, side(0.7, spread=0.01)) is (Answer.SAME if one_sided else Answer.FASTER)
    assert rule.log_ratio(old, side(1.0, spread=0.01)) == 0.0


def test_rules_with_a_threshold_do_not_see_what_lies_below_it() -> None:
    pytest.importorskip("asv")
    pytest.importorskip("pytest_benchmark")
    below = {"pytest-benchmark": 1.04, "torch.utils.benchmark": 1.04, "asv": 1.09, "criterion": 1.008}
    for rule in RULES:
        if rule.tool in below:
            assert rule.decide(side(1.0), side(below[rule.tool])) is Answer.SAME, rule
