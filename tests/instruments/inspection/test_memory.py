"""Memory around a step: what is the step's, what was there before it, and what iterations leave behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Ops, Step
from stepmark.instruments.inspection import memory
from stepmark.instruments.inspection.memory import (
    overlook,
    reachable_tensors,
    remember_import,
    remember_start,
    surroundings,
)
from stepmark.records.case import Mode
from tests.instruments.inspection.bound import inspected

lying_around = torch.ones(8)


@pytest.fixture
def started() -> Iterator[None]:
    remember_start()
    yield
    gc.unfreeze()
    memory._start = memory._Start()


def test_parts_of_a_step_are_found_through_whatever_holds_them() -> None:
    captured, default, global_one = torch.ones(1), torch.ones(2), lying_around

    class Holder:
        def __init__(self) -> None:
            self.values = {"list": [torch.ones(3)]}

        def __call__(self, x: Tensor) -> Tensor:
            return x

    holder = Holder()

    def function(x: Tensor, scale: Tensor = default) -> Tensor:
        return holder(x) * captured * lying_around[:1]

    found = {id(one) for one in reachable_tensors([function])}
    assert found == {id(one) for one in (captured, default, global_one, holder.values["list"][0])}


def test_modules_are_walked_with_buffers_gradients_and_caches() -> None:
    module = nn.BatchNorm1d(4)
    module.cache = torch.ones(7)
    module(torch.randn(3, 4)).sum().backward()
    sizes = sorted(one.numel() for one in reachable_tensors([module]))
    assert sizes == sorted([4, 4, 4, 4, 4, 4, 1, 7])


def test_globals_that_a_function_does_not_name_are_not_its_own() -> None:
    assert reachable_tensors([lambda x: x + 1]) == []


def test_tensors_made_by_the_import_are_told_from_those_of_the_build(started: None) -> None:
    early = torch.ones(1000)
    remember_import()
    foreign, own, harness = torch.ones(500), torch.ones(100), torch.ones(10_000)
    overlook([harness])
    found = surroundings([own], [own])
    assert (found.before_build, found.own, found.foreign) == (early.nbytes, own.nbytes, foreign.nbytes)
    assert surroundings([own], [own, early, foreign]).before_build == 0
    assert surroundings([own], [own, early, foreign]).foreign == 0
    del early
    assert surroundings([own], [own]).before_build == 0


def test_tensors_of_the_compiler_have_no_memory(started: None) -> None:
    remember_import()
    own = torch.ones(10)
    with FakeTensorMode():
        fake = torch.empty(1 << 20)
    assert fake.device.type == "cpu"
    assert surroundings([own], [own]).foreign == 0


def test_a_step_that_uses_all_it_made_leaves_nothing_over(started: None) -> None:
    remember_import()
    step = Step(nn.Linear(64, 64), inputs=randn(32, 64), optimizer=torch.optim.AdamW)
    found = inspected(step).memory
    weights, inputs, counters = 64 * 64 * 4 + 64 * 4, 32 * 64 * 4, 2 * 4
    assert found.own == 3 * weights + inputs + counters
    assert (found.before_build, found.foreign, found.kept, found.kept_before) == (0, 0, 0, 0)


def test_without_a_start_nothing_is_said_about_others() -> None:
    found = inspected(Step(nn.Linear(4, 4), inputs=randn(2, 4))).memory
    assert (found.before_build, found.foreign) == (0, 0)


class Hoards(nn.Module):
    """Keeps its outputs: all of them, or the last one."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.layer, self.most = nn.Linear(64, 64), most
        self.outputs: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x)
        self.outputs = [*self.outputs, output.detach()][-self.most :]
        return output


def test_what_every_iteration_leaves_behind_is_growth() -> None:
    found = inspected(Step(Hoards(1000), inputs=randn(32, 64))).memory
    assert found.kept == found.kept_before == 32 * 64 * 4


@pytest.mark.parametrize("mode", [Mode.TRAIN, Mode.FORWARD])
def test_what_the_next_iteration_replaces_is_no_growth(mode: Mode) -> None:
    found = inspected(Step(Hoards(1), inputs=randn(32, 64)), mode).memory
    assert found.kept == 32 * 64 * 4
    assert found.kept_before == 0


def test_garbage_in_circles_is_no_growth() -> None:
    def circular(x: Tensor) -> Tensor:
        circle: list[object] = [x * 2]
        circle.append(circle)
        return x * 3

    found = inspected(Step(circular, inputs=randn(32, 64)), Mode.FORWARD).memory
    assert found.kept_before == 0


def test_operations_that_keep_their_results_grow() -> None:
    x = torch.ones(1000)
    kept: list[Tensor] = []
    found = inspected(Ops({"keep": lambda: kept.append(x * 2)}), Mode.OPS).memory
    assert found.kept == found.kept_before == 4000
