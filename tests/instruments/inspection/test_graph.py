"""The graph behind a tensor: its leaves, and what it keeps, against torch's own hooks."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Step
from stepmark.instruments.inspection.graph import leaves_among, nodes_behind, saved_by
from stepmark.records.case import Mode
from tests.instruments.inspection.bound import inspected, phase
from tests.support.tensors import saved_storages

LAYERS: list[Any] = [
    lambda: nn.Linear(8, 8),
    nn.GELU,
    nn.Tanh,
    lambda: nn.LayerNorm(8),
    lambda: nn.Dropout(0.5),
    lambda: nn.Softmax(-1),
    lambda: nn.ReLU(inplace=True),
]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(LAYERS), min_size=1, max_size=6))
def test_what_the_nodes_keep_is_what_torch_packs(layers: list[Any]) -> None:
    """The walk finds the same storages as hooks on saved tensors."""
    module = nn.Sequential(nn.Linear(8, 8), *(make() for make in layers))
    x = torch.randn(4, 8)
    torch.manual_seed(0)
    with saved_storages() as packed:
        hooked = module(x)
    sizes = sorted(storage.nbytes() for storage in packed.values())
    del hooked
    torch.manual_seed(0)
    walked = {one.untyped_storage().data_ptr(): one for one in saved_by(nodes_behind([module(x)]))}
    assert sorted(one.untyped_storage().nbytes() for one in walked.values()) == sizes


def test_a_chain_keeps_what_its_backward_pass_needs() -> None:
    """The second layer's input, and the GELU's; the first layer's input and all weights exist anyway."""
    step = Step(
        nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8)), inputs=randn(4, 16), loss=torch.sum
    )
    found = inspected(step)
    assert phase(found, "forward").saved_bytes == 2 * (4 * 32 * 4)
    assert phase(found, "loss").saved_bytes == 0
    assert phase(inspected(step, Mode.FORWARD), "forward").saved_bytes == 0


class Squares(torch.autograd.Function):
    """Keeps one tensor by the book and one on its context."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        doubled = x * 2
        ctx.save_for_backward(doubled)
        ctx.beside = x + 1
        return x * x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return gradients[0] * ctx.saved_tensors[0] + ctx.beside * 0


def test_functions_of_ones_own_are_looked_into() -> None:
    x = torch.ones(10, requires_grad=True)
    y = Squares.apply(x)  # type: ignore[no-untyped-call]
    assert len({one.untyped_storage().data_ptr() for one in saved_by(nodes_behind([y]))}) == 2


def test_what_a_checkpoint_hides_is_not_computed_to_be_counted() -> None:
    calls = []
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    layer.register_forward_hook(lambda *_: calls.append(1))
    y = checkpoint(layer, torch.ones(2, 4, requires_grad=True), use_reentrant=False)
    list(saved_by(nodes_behind([y])))
    assert len(calls) == 1


def test_not_for_functions_of_ones_own_either() -> None:
    calls = []

    def layer(x: Tensor) -> Tensor:
        calls.append(1)
        return Squares.apply(x).tanh()  # type: ignore[no-any-return, no-untyped-call]

    y = checkpoint(layer, torch.ones(2, 4, requires_grad=True), use_reentrant=False)
    list(saved_by(nodes_behind([y])))
    assert len(calls) == 1


def test_a_graph_that_was_freed_keeps_nothing() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x.exp()
    y.sum().backward()  # type: ignore[no-untyped-call]
    assert list(saved_by(nodes_behind([y]))) == []


def test_leaves_are_those_that_get_gradients() -> None:
    w, frozen = torch.ones(2, requires_grad=True), torch.ones(2)
    end = (w * frozen + w).sum()
    (leaf,) = leaves_among(nodes_behind([end]))
    assert leaf is w
    assert nodes_behind([frozen]) == []
