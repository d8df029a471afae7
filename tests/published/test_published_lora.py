"""Criterion's plans made again from the log, and the work of the published kernel."""

from __future__ import annotations

import pytest

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.criterion_benchmarks import benchmarks
from stepmark.published.catalogue import document_of
from stepmark.published.lora_plan import RecoveredPlan, recovered_plans
from stepmark.published.lora_work import PUBLISHED_WORK


def log() -> CriterionLog:
    found = document_of("lora")
    assert isinstance(found, CriterionLog)
    return found


PLANS = {plan.id.rpartition("/")[2]: plan for plan in recovered_plans(log())}


@pytest.mark.parametrize(
    ("id", "sampling", "step", "iterations", "warm_up"),
    [
        ("small_512x512_r8", "linear", 3, 15150, 349e-6),
        ("medium_1024x1024_r8", "linear", 2, 10100, 825e-6),
        ("large_2048x2048_r8", "flat", 21, 2100, 2.48e-3),
        ("small_512x512_r16", "flat", 6, 600, 9.43e-3),
        ("forward_backward", "flat", 8, 800, 6.61e-3),
        ("adamw_step", "linear", 1, 5050, 1.83e-3),
        ("complete_iteration", "linear", 24, 1320, 3.82e-3),
        ("softmax_stable", "linear", 23, 116150, 44.5e-6),
        ("layer_norm", "linear", 21, 106050, 48.0e-6),
        ("rms_norm", "linear", 39, 196950, 25.5e-6),
        ("rank_4", "linear", 2, 10100, 0.743e-3),
        ("rank_8", "linear", 1, 5050, 1.47e-3),
        ("rank_16", "flat", 21, 2100, 2.42e-3),
        ("rank_32", "flat", 15, 1500, 3.35e-3),
        ("rank_64", "flat", 12, 1200, 4.51e-3),
        ("eager_forward", "linear", 1, 5050, 1.14e-3),
        ("lazy_forward_sync", "flat", 25, 2500, 2.04e-3),
    ],
)
def test_plans(id: str, sampling: str, step: int, iterations: int, warm_up: float) -> None:
    plan: RecoveredPlan = PLANS[id]
    assert (plan.sampling, plan.step, plan.iterations) == (sampling, step, iterations)
    assert plan.warm_up == pytest.approx(warm_up, rel=0.005)


def test_a_plan_of_step_one_is_warned_about_and_no_other() -> None:
    warned = {each.id.rpartition("/")[2] for each in benchmarks(log()) if each.shortfall is not None}
    assert warned == {id for id, plan in PLANS.items() if plan.step == 1}


@pytest.mark.parametrize(
    ("id", "elements"),
    [
        ("small_512x512_r8", 32768),
        ("medium_1024x1024_r8", 65536),
        ("large_2048x2048_r8", 131072),
        ("small_512x512_r16", 32768),
        ("complete_iteration", 131072),
    ],
)
def test_elements_follow_from_the_throughput(id: str, elements: int) -> None:
    assert PLANS[id].elements == elements


def test_others_have_no_throughput() -> None:
    assert sum(plan.elements is not None for plan in PLANS.values()) == 5


def test_the_kernel_computed_hundreds_of_times_what_is_needed() -> None:
    assert [round(work.excess) for work in PUBLISHED_WORK[:3]] == [249, 497, 993]
    assert [round(work.needed / 1e6, 2) for work in PUBLISHED_WORK] == [1.08, 2.16, 4.33, 2.13]


def test_seventeen_benchmarks_with_all_that_was_printed() -> None:
    found = benchmarks(log())
    assert len(found) == 17
    assert all(
        each.time and each.change and each.sentence and each.collect and each.warm_up for each in found
    )
    assert sum(each.outliers is not None for each in found) == 15
    assert sum(bool(each.throughput) for each in found) == 5
