"""The optimizer watch: what optimizers hold, and what of it has changed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Ops, Step
from stepmark.records.case import Mode
from stepmark.records.inspection import OptimizerFacts
from tests.instruments.inspection.bound import inspected, stepped


def optimized(optimizer: Any, module: nn.Module | None = None) -> OptimizerFacts:
    found = inspected(Step(module or nn.Linear(4, 4), inputs=randn(2, 4), optimizer=optimizer)).optimizer
    assert found is not None
    return found


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop])
def test_an_optimizer_changes_what_it_holds(optimizer: Any) -> None:
    assert optimized(optimizer) == OptimizerFacts(steps=1, parameters=2, with_gradient=2, changed=2)


def test_an_optimizer_of_large_tensors_is_seen_by_their_sums() -> None:
    module = nn.Sequential(nn.Linear(4, 2048), nn.Linear(2048, 4))
    assert optimized(torch.optim.SGD, module).changed == 4


def test_a_rate_of_zero_changes_nothing() -> None:
    found = optimized(lambda parameters: torch.optim.SGD(parameters, lr=0.0))
    assert (found.with_gradient, found.changed) == (2, 0)


def test_an_optimizer_of_other_tensors_is_recognised() -> None:
    others = nn.Linear(3, 3)
    found = optimized(lambda parameters: torch.optim.SGD(others.parameters()))
    assert (found.parameters, found.foreign, found.with_gradient, found.changed) == (2, 2, 0, 0)


def test_a_copy_of_the_module_is_foreign() -> None:
    copies = [torch.zeros(4, 4, requires_grad=True)]
    assert optimized(lambda parameters: torch.optim.SGD(copies)).foreign == 1


def test_parameters_of_a_view_of_the_module_are_its_own() -> None:
    module = nn.Linear(4, 4)
    flat = nn.Parameter(module.weight.detach())
    assert optimized(lambda parameters: torch.optim.SGD([flat]), module).foreign == 0


class Plain:
    """An optimizer that is not torch's."""

    def __init__(self, parameters: Iterable[Tensor], *, rate: float = 0.1) -> None:
        self.parameters, self.rate = list(parameters), rate

    def step(self) -> None:
        with torch.no_grad():
            for one in self.parameters:
                assert one.grad is not None
                one.sub_(one.grad, alpha=self.rate)


class Delegating(Plain):
    """One that has torch's inside."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        super().__init__(parameters)
        self.inner = torch.optim.SGD(self.parameters)

    def step(self) -> None:
        self.inner.step()


@pytest.mark.parametrize("optimizer", [Plain, Delegating])
def test_an_optimizer_that_is_not_torchs_is_known_by_what_it_does(optimizer: Any) -> None:
    assert optimized(optimizer) == OptimizerFacts(steps=1, parameters=2, with_gradient=2, changed=2)


class Gathering(Plain):
    """One that updates after every so many passes."""

    def __init__(self, parameters: Iterable[Tensor], *, passes: int) -> None:
        super().__init__(parameters)
        self.gathered = [torch.zeros_like(one) for one in self.parameters]
        self.passes, self.seen = passes, 0

    def step(self) -> None:
        self.seen += 1
        for one, gathered in zip(self.parameters, self.gathered, strict=True):
            assert one.grad is not None
            gathered.add_(one.grad)
            if self.seen % self.passes == 0:
                one.data.sub_(gathered)
                gathered.zero_()


@pytest.mark.parametrize("passes", [2, 8, 16])
def test_an_optimizer_that_gathers_gradients_is_watched_until_it_updates(passes: int) -> None:
    optimizer = partial(Gathering, passes=passes)
    found = inspected(
        Step(nn.Linear(4, 4), inputs=randn(2, 4), loss=torch.sum, optimizer=optimizer)
    ).optimizer
    assert found is not None
    assert (found.with_gradient, found.changed) == (2, 2)
    assert found.steps <= passes


def test_weights_are_as_before_when_an_optimizer_was_waited_for() -> None:
    layer = nn.Linear(4, 4)
    optimizer = partial(Gathering, passes=8)
    program = stepped(Step(layer, inputs=randn(2, 4), loss=torch.sum, optimizer=optimizer))
    before = layer.weight.detach().clone()
    assert program.examine is not None
    program.examine()
    assert torch.equal(layer.weight, before)


def test_an_idle_optimizer_that_is_not_torchs_changes_nothing() -> None:
    assert optimized(lambda parameters: Plain(parameters, rate=0.0)).changed == 0


def test_rows_of_a_table_that_change_are_enough() -> None:
    table = nn.Embedding(5000, 4, sparse=True)
    step = Step(table, inputs=[torch.tensor([7])], loss=torch.sum, optimizer=torch.optim.SparseAdam)
    found = inspected(step).optimizer
    assert found is not None
    assert found.changed == 1


def test_optimizers_that_operations_call_are_seen() -> None:
    w = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([w])

    def step() -> None:
        optimizer.zero_grad()
        (w * w).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    found = inspected(Ops({"step": step}), Mode.OPS).optimizer
    assert found == OptimizerFacts(steps=1, parameters=1, with_gradient=1, changed=1)


def test_without_an_optimizer_there_is_nothing_to_say() -> None:
    assert inspected(Step(nn.Linear(4, 4), inputs=randn(2, 4))).optimizer is None


class Listed(nn.Module):
    """Its second layer is kept in a list."""

    def __init__(self, *, frozen: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.others = [nn.Linear(4, 4).requires_grad_(not frozen)]

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.others[0](self.first(x).relu())
        return y


def passed_by(module: nn.Module, optimizer: Any = torch.optim.SGD, **more: Any) -> set[str]:
    found = inspected(Step(module, inputs=randn(2, 4), optimizer=optimizer, **more)).optimizer
    assert found is not None
    return {*found.passed_by}


def test_weights_that_get_gradients_and_no_update_are_named_by_their_shapes() -> None:
    assert passed_by(Listed()) == {"4 x 4", "4"}
    assert passed_by(Listed(frozen=True)) == set()
    assert passed_by(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))) == set()


def test_parameters_that_the_optimizer_was_not_given_are_named() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    half = passed_by(module, lambda parameters: torch.optim.SGD(list(parameters)[:2]))
    assert half == {"1.weight", "1.bias"}


def test_inputs_that_want_gradients_are_no_weights() -> None:
    step = Step(nn.Linear(4, 4), inputs=randn(2, 4, requires_grad=True), optimizer=torch.optim.SGD)
    facts = inspected(step).optimizer
    assert facts is not None
    assert facts.passed_by == ()


def test_a_parameter_of_the_loss_is_the_optimizers_too() -> None:
    assert passed_by(nn.Linear(4, 4), loss=Margin()) == set()


class Margin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, y: Tensor) -> Tensor:
        return (self.scale * y).square().mean()


class Stepping(nn.Module):
    """Updates what is in its list by hand, in a step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.others = nn.Linear(4, 4), [nn.Linear(4, 4)]
        register: Any = self.first.weight.register_post_accumulate_grad_hook
        register(lambda _: self._update())

    def _update(self) -> None:
        for one in self.others[0].parameters():
            if one.grad is not None:
                one.data.sub_(one.grad)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.others[0](self.first(x).relu())
        return y


def test_weights_that_are_updated_by_hand_are_not_passed_by() -> None:
    assert passed_by(Stepping()) == set()


def test_of_an_optimizer_that_is_not_torchs_nobody_knows_what_it_updates() -> None:
    assert passed_by(Listed(), Plain) == set()


def test_who_holds_copies_updates_nobody_knows_what() -> None:
    copies = [torch.zeros(4, 4, requires_grad=True)]
    assert passed_by(Listed(), lambda parameters: torch.optim.SGD([*parameters, *copies])) == set()
