"""An iteration: from which gradient backward starts where there is no loss."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.instruments.torch_iteration import MOST_DIVISION, Iteration


def started_from(iteration: Iteration, steps: int, leaf: Tensor, *, prepared: int) -> list[Tensor]:
    """The gradients that arrive, step by step; a lane prepares once more after its block."""
    found = []
    for _ in range(steps):
        for _ in range(prepared):
            iteration.prepare()
        iteration.forward()
        iteration.backward()
        assert leaf.grad is not None
        found.append(leaf.grad)
    return found


def of_a_leaf(shape: tuple[int, ...], *, updated: bool, prepared: int = 1) -> list[Tensor]:
    leaf = torch.zeros(shape, requires_grad=True)
    iteration = Iteration(lambda: leaf * 1.0, None, [], [], leaves=[leaf], seed=3, updated=updated)
    return started_from(iteration, 4, leaf, prepared=prepared)


SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)


@given(SHAPES)
def test_without_an_optimizer_it_stays_the_same(shape: tuple[int, ...]) -> None:
    first, *others = of_a_leaf(shape, updated=False)
    assert all(torch.equal(other, first) for other in others)


@given(SHAPES, st.integers(1, 3))
def test_under_an_optimizer_its_sign_alternates(shape: tuple[int, ...], prepared: int) -> None:
    first, second, third, fourth = of_a_leaf(shape, updated=True, prepared=prepared)
    assert torch.equal(second, -first)
    assert torch.equal(third, first)
    assert torch.equal(fourth, second)


def test_under_an_optimizer_it_is_short_and_little_of_it_denormal_in_half() -> None:
    few, *_ = of_a_leaf((64, 64), updated=True)
    many, *_ = of_a_leaf((2048, 2048), updated=True)
    assert 0.9 < float(few.norm()) < 1.1
    assert 0.9 < MOST_DIVISION * float(many.std()) < 1.1
    assert float((many.abs() < torch.finfo(torch.float16).smallest_normal).float().mean()) < 0.01


def test_a_loss_is_followed_as_it_is() -> None:
    leaf = torch.ones(3, requires_grad=True)
    iteration = Iteration(
        lambda: leaf * 1.0, lambda y: (2 * y).sum(), [], [], leaves=[leaf], seed=3, updated=True
    )
    for _ in range(3):
        assert torch.equal(iteration.without_optimizer(), leaf)
        assert leaf.grad is not None
        assert torch.equal(leaf.grad, torch.full((3,), 2.0))
    assert iteration.gradient is None


def test_momentum_leads_an_ordinary_stack_nowhere() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16))
    before = [one.detach().clone() for one in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, momentum=0.9, nesterov=True)
    leaves: list[Tensor] = [*module.parameters()]
    iteration = Iteration(module, None, [torch.randn(8, 16)], [], leaves=leaves, seed=3, updated=True)
    for _ in range(500):
        iteration.without_optimizer()
        optimizer.step()
    for one, was in zip(module.parameters(), before, strict=True):
        assert float((one - was).detach().norm()) < 0.5 * float(was.norm())
