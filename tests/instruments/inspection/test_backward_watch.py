"""The backward watch: gradients that come, stay away, pile up; graphs used twice or never dropped."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Ops, Step
from stepmark.records.case import Mode
from stepmark.records.inspection import GradientFacts
from tests.instruments.inspection.bound import inspected


def gradients(workload: Any, mode: Mode = Mode.TRAIN) -> GradientFacts:
    found = inspected(workload, mode).gradients
    assert found is not None
    return found


class TwoLayers(nn.Module):
    """Uses one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(4, 4)
        self.unused = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.used(x)  # type: ignore[no-any-return]


class Silent(torch.autograd.Function):
    """Forgets its gradients."""

    zeros = False

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, w = ctx.saved_tensors
        return (torch.zeros_like(x), torch.zeros_like(w)) if Silent.zeros else (None, None)


class Forgetful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))
        self.bias = nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Tensor:
        return Silent.apply(x, self.weight) + self.bias  # type: ignore[no-any-return, no-untyped-call]


def test_a_plain_step_runs_one_pass_over_a_graph_of_its_own() -> None:
    found = gradients(Step(nn.Linear(4, 4), inputs=randn(2, 4), optimizer=torch.optim.SGD))
    assert found == GradientFacts(trainable=2, passes=1, leaves=2)


def test_parameters_that_got_no_gradient_are_named() -> None:
    assert gradients(Step(TwoLayers(), inputs=randn(2, 4))).without == ("unused.weight", "unused.bias")


@pytest.mark.parametrize("zeros", [False, True])
def test_a_function_without_a_backward_pass_is_found_out(
    zeros: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Silent, "zeros", zeros)
    found = gradients(Step(Forgetful(), inputs=randn(2, 4)))
    assert (found.zero if zeros else found.without) == ("weight",)
    assert (found.without if zeros else found.zero) == ()


def test_frozen_parameters_are_not_expected_to_have_gradients() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    module[0].requires_grad_(False)
    found = gradients(Step(module, inputs=randn(2, 4)))
    assert (found.trainable, found.without, found.zero) == (2, (), ())


class UpdatesWhileGoingBack(nn.Module):
    """An optimizer inside the backward pass, which drops each gradient when it has used it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        for parameter in self.parameters():
            register: Any = parameter.register_post_accumulate_grad_hook
            register(self._update)

    def _update(self, parameter: Tensor) -> None:
        with torch.no_grad():
            assert parameter.grad is not None
            parameter.sub_(parameter.grad, alpha=1e-3)
            parameter.grad = None

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)  # type: ignore[no-any-return]


def test_a_gradient_that_was_used_up_was_there() -> None:
    found = gradients(Step(UpdatesWhileGoingBack(), inputs=randn(2, 4)))
    assert (found.without, found.zero) == ((), ())


class ClearsAfterwards(torch.optim.SGD):
    def step(self, closure: Any = None) -> Any:
        super().step(closure)
        self.zero_grad(set_to_none=False)


def test_a_gradient_that_the_optimizer_cleared_was_not_zero() -> None:
    found = gradients(Step(nn.Linear(4, 4), inputs=randn(2, 4), optimizer=ClearsAfterwards))
    assert found.zero == ()


def test_sparse_gradients_are_gradients() -> None:
    table = nn.Embedding(10, 4, sparse=True)
    step = Step(table, inputs=[torch.tensor([1, 2])], loss=torch.sum)
    assert gradients(step).zero == gradients(step).without == ()


def test_a_forward_pass_has_no_gradients_to_speak_of() -> None:
    assert inspected(Step(nn.Linear(4, 4), inputs=randn(2, 4)), Mode.FORWARD).gradients is None


def test_a_pass_that_should_not_be_there_is_seen() -> None:
    layer = nn.Linear(4, 4)

    def trains(x: Tensor) -> Tensor:
        with torch.enable_grad():
            output: Tensor = layer(x)
            output.sum().backward()  # type: ignore[no-untyped-call]
        return output

    assert gradients(Step(trains, inputs=randn(2, 4)), Mode.FORWARD).passes == 1


# ── operations that train by themselves ─────────────────────────────────────────────────────────────


class Loop:
    """Forward and backward as a person writes them, with one mistake at a time."""

    def __init__(self, *, clear: bool = True, retain: bool = False, keep: bool = False) -> None:
        self.layer, self.x = nn.Linear(4, 4), torch.ones(2, 4)
        self.clear, self.retain, self.keep = clear, retain, keep
        self.kept: list[Tensor] = []
        self.loss = self.layer(self.x).sum()

    def forward(self) -> None:
        if not self.retain:
            self.loss = self.layer(self.x).sum()
        if self.keep:
            self.kept.append(self.loss)

    def backward(self) -> None:
        if self.clear:
            self.layer.zero_grad()
        self.loss.backward(retain_graph=self.retain)

    def ops(self) -> Ops:
        return Ops({"forward": self.forward, "backward": self.backward})


def test_a_loop_that_clears_and_drops_is_clean() -> None:
    found = gradients(Loop().ops(), Mode.OPS)
    assert (found.leaves, found.present_before, found.same_graph) == (2, 0, False)
    assert found.graphs_alive < 2


def test_gradients_that_were_never_cleared_are_counted() -> None:
    assert gradients(Loop(clear=False).ops(), Mode.OPS).present_before == 2


@pytest.mark.parametrize("clear_first", [True, False])
def test_gradients_that_were_set_to_zero_are_not_those_of_the_iteration_before(clear_first: bool) -> None:
    layer, x = nn.Linear(4, 4), torch.ones(2, 4)

    def backward() -> None:
        if clear_first:
            layer.zero_grad(set_to_none=False)
        layer(x).sum().backward()
        if not clear_first:
            layer.zero_grad(set_to_none=False)

    assert gradients(Ops({"backward": backward}), Mode.OPS).present_before == 0


def test_a_graph_that_is_traversed_again_is_recognised() -> None:
    assert gradients(Loop(retain=True).ops(), Mode.OPS).same_graph
    assert not gradients(Loop(keep=True).ops(), Mode.OPS).same_graph


def test_a_part_of_a_graph_that_is_shared_is_recognised_too() -> None:
    w = torch.ones(4, 4, requires_grad=True)
    shared = w @ w
    found = gradients(Ops({"backward": lambda: shared.sum().backward(retain_graph=True)}), Mode.OPS)  # type: ignore[no-untyped-call]
    assert found.same_graph


def test_graphs_that_nobody_drops_are_counted() -> None:
    assert gradients(Loop(keep=True).ops(), Mode.OPS).graphs_alive == 2


def test_running_totals_keep_every_graph_alive() -> None:
    layer, x = nn.Linear(4, 4), torch.ones(2, 4)
    total = [torch.zeros(())]

    def backward() -> None:
        loss = layer(x).sum()
        loss.backward(retain_graph=True)
        total[0] = total[0] + loss

    assert gradients(Ops({"backward": backward}), Mode.OPS).graphs_alive == 2


def test_gradients_asked_for_by_function_leave_none_behind() -> None:
    layer, x = nn.Linear(4, 4), torch.ones(2, 4)
    found = gradients(
        Ops({"backward": lambda: torch.autograd.grad(layer(x).sum(), list(layer.parameters()))}), Mode.OPS
    )
    assert (found.passes, found.leaves, found.present_before) == (1, 0, 0)


def test_hooks_and_the_engine_are_as_before() -> None:
    layer = nn.Linear(4, 4)
    engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    gradients(Step(layer, inputs=randn(2, 4)))
    assert torch.autograd._engine_run_backward is engine  # type: ignore[attr-defined]
    assert not layer.weight._backward_hooks
