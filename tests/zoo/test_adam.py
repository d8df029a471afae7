"""Adam and AdamW: step for step against torch.optim, state that moves between them, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from stepmark.zoo.adam import TOLERANCES, Adam, AdamW
from tests.support.properties import steady

Ours = type[Adam] | type[AdamW]
PAIRS: list[tuple[Ours, Any]] = [(Adam, torch.optim.Adam), (AdamW, torch.optim.AdamW)]
STEPS = 10


def parameters(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def train(
    optimizer: torch.optim.Optimizer, trained: list[nn.Parameter], *, steps: int, first: int = 0
) -> None:
    """With gradients that depend on the step alone."""
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(step)
        for one in trained:
            one.grad = torch.randn(one.shape, generator=generator).to(one.dtype)
        optimizer.step()


def assert_same(found: list[nn.Parameter], expected: list[nn.Parameter], tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        largest = float(other.detach().abs().max())
        torch.testing.assert_close(
            one.detach().double(), other.detach().double(), rtol=0.0, atol=tolerance * largest
        )


@steady
@given(
    st.sampled_from(PAIRS),
    st.sampled_from([1e-3, 0.1]),
    st.sampled_from([(0.9, 0.999), (0.0, 0.5)]),
    st.sampled_from([1e-8, 1e-2]),
    st.sampled_from([0.0, 0.01, 0.5]),
)
def test_ten_steps_are_torchs(
    pair: tuple[Ours, Any], lr: float, betas: tuple[float, float], eps: float, weight_decay: float
) -> None:
    """Decay of half the weight at lr 0.1: another order of decay and update would be far off."""
    settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
    ours, theirs = (parameters((3, 5), (7,), ()) for _ in range(2))
    train(pair[0](ours, **settings), ours, steps=STEPS)  # type: ignore[arg-type]
    train(pair[1](theirs, **settings, foreach=False), theirs, steps=STEPS)
    assert_same(ours, theirs, TOLERANCES[torch.float64])


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_the_defaults_are_torchs(ours: Ours, theirs: Any) -> None:
    mine, other = parameters((4,)), parameters((4,))
    train(ours(mine), mine, steps=3)
    train(theirs(other, foreach=False), other, steps=3)
    assert_same(mine, other, TOLERANCES[torch.float64])


def test_one_step_worked_out_by_hand() -> None:
    """The first corrected moments are g and g^2: the update is lr times the sign, the decay lr wd p."""
    parameter = nn.Parameter(torch.tensor([2.0, -1.0], dtype=torch.float64))
    parameter.grad = torch.tensor([0.3, -5.0], dtype=torch.float64)
    AdamW([parameter], lr=0.1, eps=0.0, weight_decay=0.5).step()
    assert parameter.tolist() == pytest.approx([2.0 - 0.1 - 0.1, -1.0 + 0.1 + 0.05])


def test_the_order_of_the_handout_would_be_another() -> None:
    """Update first, then decay of the new value: 1.8 + 0.005 instead of 1.8."""
    parameter = nn.Parameter(torch.tensor([2.0], dtype=torch.float64))
    parameter.grad = torch.tensor([0.3], dtype=torch.float64)
    AdamW([parameter], lr=0.1, eps=0.0, weight_decay=0.5).step()
    assert parameter.item() == pytest.approx(1.8, abs=1e-12)
    assert abs(parameter.item() - (2.0 - 0.1) * (1.0 - 0.05)) == pytest.approx(0.005)


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("ours", [Adam, AdamW])
def test_every_dtype_against_float64(ours: Ours, dtype: torch.dtype) -> None:
    narrow = parameters((6, 4), dtype=dtype)
    wide = [nn.Parameter(one.detach().double()) for one in narrow]
    optimizers = ours(narrow, lr=0.01, eps=1e-4), ours(wide, lr=0.01, eps=1e-4)
    for step in range(STEPS):
        gradient = torch.randn(6, 4, generator=torch.Generator().manual_seed(step)).to(dtype)
        narrow[0].grad, wide[0].grad = gradient, gradient.double()
        for optimizer in optimizers:
            optimizer.step()
    assert narrow[0].dtype == dtype
    assert_same(narrow, wide, TOLERANCES[dtype])


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_groups_have_their_own_settings(ours: Ours, theirs: Any) -> None:
    def groups(of: list[nn.Parameter]) -> list[dict[str, Any]]:
        return [{"params": of[:1], "lr": 0.1}, {"params": of[1:], "weight_decay": 0.3}]

    mine, other = parameters((3,), (2,)), parameters((3,), (2,))
    train(ours(groups(mine)), mine, steps=4)
    train(theirs(groups(other), foreach=False), other, steps=4)
    assert_same(mine, other, TOLERANCES[torch.float64])


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("from_ours", [True, False])
@pytest.mark.parametrize("to_ours", [True, False])
def test_state_moves_between_ours_and_torchs(ours: Ours, theirs: Any, from_ours: bool, to_ours: bool) -> None:
    def make(of: list[nn.Parameter], *, mine: bool) -> torch.optim.Optimizer:
        optimizer: torch.optim.Optimizer = ours(of, lr=0.1) if mine else theirs(of, lr=0.1, foreach=False)
        return optimizer

    straight = parameters((3, 2), (4,))
    train(make(straight, mine=True), straight, steps=8)
    handed = parameters((3, 2), (4,))
    first = make(handed, mine=from_ours)
    train(first, handed, steps=5)
    second = make(handed, mine=to_ours)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    train(second, handed, steps=3, first=5)
    assert_same(handed, straight, TOLERANCES[torch.float64])


@pytest.mark.parametrize("setting", ["amsgrad", "maximize"])
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_torchs_settings_that_are_not_ours_are_refused(ours: Ours, theirs: Any, setting: str) -> None:
    trained = parameters((3,))
    other = theirs(trained, **{setting: True})
    train(other, trained, steps=1)
    optimizer = ours(trained, lr=0.5)
    with pytest.raises(ValueError, match=f"has no {setting}"):
        optimizer.load_state_dict(other.state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.5
    with pytest.raises(ValueError, match=f"has no {setting}"):
        ours([{"params": trained, setting: True}])


def test_state_of_decoupled_decay_is_none_of_adams() -> None:
    trained = parameters((3,))
    with pytest.raises(ValueError, match="Adam has no decoupled_weight_decay"):
        Adam(trained).load_state_dict(torch.optim.AdamW(trained).state_dict())
    AdamW(trained).load_state_dict(torch.optim.AdamW(trained).state_dict())


def test_parameters_without_a_gradient_stay_and_keep_their_count() -> None:
    moved, still = parameters((2,), (2,))
    optimizer = AdamW([moved, still])
    before = still.detach().clone()
    train(optimizer, [moved], steps=3)
    assert torch.equal(still, before)
    assert still not in optimizer.state
    assert optimizer.state[moved]["step"] == 3


@pytest.mark.parametrize("ours", [Adam, AdamW])
def test_the_gradient_itself_is_left_alone(ours: Ours) -> None:
    (parameter,) = parameters((3,))
    gradient = torch.ones(3, dtype=torch.float64)
    parameter.grad = gradient
    ours([parameter], weight_decay=0.5).step()
    assert gradient.tolist() == [1.0, 1.0, 1.0]


def test_a_closure_is_called_with_gradients_and_its_loss_comes_back() -> None:
    (parameter,) = parameters((3,))
    optimizer = Adam([parameter], lr=0.05)

    def closure() -> float:
        optimizer.zero_grad()
        loss = parameter.square().sum()
        torch.autograd.backward(loss)
        return loss.item()

    losses = [optimizer.step(closure) for _ in range(100)]
    assert losses[-1] < 0.01 * losses[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr": -1.0}, "lr must be at least 0, got -1"),
        ({"eps": float("nan")}, "eps must be at least 0, got nan"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0"),
        ({"betas": (0.9, 1.0)}, r"betas must be two numbers in \[0, 1\)"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    for ours in (Adam, AdamW):
        with pytest.raises(ValueError, match=message):
            ours(parameters((2,)), **settings)


def test_a_sparse_gradient_is_refused() -> None:
    table = nn.Embedding(4, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match=r"dense, real gradient, got a sparse one of shape \(4, 2\)"):
        Adam(table.parameters()).step()
