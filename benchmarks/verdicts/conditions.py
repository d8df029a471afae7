"""The conditions of the study, how often each is run, and the random order of a round."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from random import Random

from benchmarks.verdicts.results import OURS, SEPARATE, Condition, Load

WORKLOADS = ("norm_softmax", "lora", "linear", "adamw")
EFFECTS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
PEER_EFFECTS = (0.03, 0.05)
PEERS = {
    "pyperf": 0.05,
    "pytest-benchmark": 0.1,
    "torch.utils.benchmark": 0.1,
    "asv": 0.1,
    "criterion": 0.1,
}
"""Visits a round at each effect. pyperf imports torch in every one of its processes, so it gets half."""


def all_conditions() -> dict[Condition, float]:
    """Every condition with its weight: how often a round runs it."""
    return {**_identical(), **_slowed(), **_separate(), **_peers()}


def _identical() -> dict[Condition, float]:
    return {
        Condition(tool=OURS, workload=workload, threads=threads, load=load): _identical_weight(threads, load)
        for workload in WORKLOADS
        for threads in (1, 2)
        for load in Load
    }


def _identical_weight(threads: int, load: Load) -> float:
    """Most often where most is demanded: on one quiet thread."""
    return 2.0 if threads == 1 and load is Load.QUIET else 1.0


def _slowed() -> dict[Condition, float]:
    """Most often where a rate is demanded: 2 % on one quiet thread, 3 % for AdamW, 5 % elsewhere."""
    weights = {}
    for workload in WORKLOADS:
        for effect in EFFECTS:
            for threads, load in ((1, Load.QUIET), (2, Load.QUIET), (1, Load.BURSTS), (2, Load.BURSTS)):
                if threads == 1 and load is Load.QUIET:
                    demanded = 0.03 if workload == "adamw" else 0.02
                    weight = 1.25 if effect == demanded else 0.2
                elif threads == 2 and load is Load.BURSTS:
                    weight = 0.05
                else:
                    weight = 0.4 if effect == 0.05 else 0.08
                weights[
                    Condition(tool=OURS, workload=workload, threads=threads, load=load, effect=effect)
                ] = weight
    return weights


def _separate() -> dict[Condition, float]:
    return {
        Condition(tool=SEPARATE, workload=workload, threads=1, load=Load.QUIET): 1.0
        for workload in ("norm_softmax", "linear")
    }


def _peers() -> dict[Condition, float]:
    weights = {}
    for tool, weight in PEERS.items():
        loads = (Load.QUIET, Load.BURSTS) if tool == "torch.utils.benchmark" else (Load.QUIET,)
        for load in loads:
            for workload in WORKLOADS:
                for effect in PEER_EFFECTS:
                    condition = Condition(tool=tool, workload=workload, threads=1, load=load, effect=effect)
                    weights[condition] = weight
    return weights


def chosen(conditions: dict[Condition, float], patterns: Sequence[str]) -> dict[Condition, float]:
    """Those whose id matches any of the shell patterns; all where there is none."""
    if not patterns:
        return conditions
    return {
        condition: weight
        for condition, weight in conditions.items()
        if any(fnmatchcase(condition.id, pattern) for pattern in patterns)
    }


def plan_round(conditions: dict[Condition, float], number: int, *, seed: int) -> list[Condition]:
    """What round `number` runs, in random order.

    A weight below 1 skips rounds: after n rounds a condition has run n times its weight, up to one. Where it
    starts counting is random, so that rare conditions do not all fall into the same rounds.
    """
    planned = []
    for condition, weight in conditions.items():
        phase = Random(f"{seed}/{condition.id}").random()
        times = int((number + 1) * weight + phase) - int(number * weight + phase)
        planned += [condition] * times
    Random(f"{seed}/round/{number}").shuffle(planned)
    return planned


def remaining(
    conditions: dict[Condition, float], done: Sequence[tuple[int, str]], number: int, *, seed: int
) -> list[Condition]:
    """What is left of a round, given the rounds and ids of what is there."""
    there = [id for round, id in done if round == number]
    left = []
    for condition in plan_round(conditions, number, seed=seed):
        if condition.id in there:
            there.remove(condition.id)
        else:
            left.append(condition)
    return left
