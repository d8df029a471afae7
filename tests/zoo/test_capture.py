"""Captured execution: the graph is the module, gradients included, and anything else is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.zoo.capture import captured
from stepmark.zoo.lora import LoRAAdapter, LoRALinear
from stepmark.zoo.norms import LayerNorm, RMSNorm

# Of torch's own capture on CUDA: it warms up on one stream and captures on another.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream"),
    pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS"),
]


class Counted(nn.Module):
    """Counts how often its Python runs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("shift", torch.full((3,), 0.5))
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        y: Tensor = self.linear(x)
        return y.relu() + self.get_buffer("shift") + torch.tensor([1.0, 2.0, 3.0])


class _Straight(torch.autograd.Function):
    """Rounds, and passes the gradient as if it had not."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0]


class Rounding(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = _Straight.apply(x)  # type: ignore[no-untyped-call]
        return result


class TwoOutputs(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1.0, x + 2.0


MODULES = {
    "linear": lambda: nn.Linear(4, 3),
    "sequence": lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)),
    "lora": lambda: LoRALinear(in_features=4, out_features=3, rank=2, zero_b=False),
    "adapter": lambda: LoRAAdapter(4, 3, rank=2, zero_b=False),
    "rms_norm": lambda: RMSNorm(4),
    "layer_norm": lambda: LayerNorm(4, affine=False),
    "counted": Counted,
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("name", MODULES)
def test_outputs_and_gradients_are_the_modules(name: str) -> None:
    module = MODULES[name]()
    replay = captured(module, torch.randn(2, 3, 4, requires_grad=True))
    x = torch.randn(2, 3, 4, requires_grad=True)
    sources = [x, *(one for one in module.parameters() if one.requires_grad)]
    expected, found = module(x), replay(x)
    torch.testing.assert_close(found, expected)
    g = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found, sources, g), torch.autograd.grad(expected, sources, g), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_the_modules_python_runs_no_more() -> None:
    module = Counted()
    replay = captured(module, torch.randn(2, 4))
    calls = module.calls
    x = torch.randn(2, 4)
    outputs = [replay(x) for _ in range(3)]
    assert module.calls == calls
    assert all(torch.equal(one, module(x)) for one in outputs)


def test_training_moves_the_parameters_that_the_graph_sees() -> None:
    module = nn.Linear(4, 3)
    replay = captured(module, torch.randn(8, 4))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    x, target = torch.randn(8, 4), torch.randn(8, 3)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (replay(x) - target).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert torch.equal(replay(x), module(x))


def test_capturing_leaves_gradients_and_random_numbers_alone() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    state = torch.get_rng_state()
    captured(module, torch.randn(2, 4, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(one.grad is None for one in module.parameters())


def test_dropout_is_drawn_at_every_replay() -> None:
    replay = captured(nn.Dropout(0.5), torch.ones(100))
    assert not torch.equal(replay(torch.ones(100)), replay(torch.ones(100)))


def test_without_gradients_it_is_for_forward_alone() -> None:
    module = nn.Linear(4, 3)
    with torch.no_grad():
        replay = captured(module, torch.randn(2, 4))
    x = torch.randn(2, 4)
    assert not replay.differentiable
    assert not replay(x).requires_grad
    torch.testing.assert_close(replay(x), module(x).detach())
    with pytest.raises(ValueError, match="requires a gradient and the graph has none"):
        replay(x.requires_grad_())
    with torch.no_grad():
        assert replay(x).shape == (2, 3)


def test_an_input_gets_a_gradient_only_where_the_example_had_one() -> None:
    replay = captured(nn.Linear(4, 3), torch.randn(2, 4))
    with pytest.raises(ValueError, match="capture with an example that requires one"):
        replay(torch.randn(2, 4, requires_grad=True))


def test_a_gradient_that_the_graph_would_lose_is_found_out() -> None:
    """The gradient of rounding is zero, that of the straight-through function is one."""
    example = torch.randn(5, requires_grad=True)
    try:
        replay = captured(Rounding(), example)
    except ValueError as refused:
        assert "gradient of the input is another" in str(refused)  # noqa: PT017
    else:
        x = torch.randn(5, requires_grad=True)
        torch.autograd.backward(replay(x).sum())
        assert x.grad is not None
        assert x.grad.tolist() == [1.0] * 5
    with torch.no_grad():
        assert torch.equal(captured(Rounding(), example)(example), example.round())


class ByValue(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1.0 if x.sum() > 0.0 else x - 1.0


def test_a_choice_by_value_cannot_be_captured() -> None:
    with pytest.raises(ValueError, match="not the same for all values"):
        captured(ByValue(), torch.randn(3))


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(3, 4),
        torch.randn(2, 4, dtype=torch.float64),
        torch.randn(4, 2).T,
        torch.randn(2, 4, 1),
    ],
)
def test_another_shape_dtype_or_layout_is_refused(x: Tensor) -> None:
    replay = captured(nn.Linear(4, 3), torch.randn(2, 4))
    with pytest.raises(ValueError, match=r"captured for \(2, 4\) of torch\.float32 on cpu .*, got \("):
        replay(x)


def test_another_mode_is_refused() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.1))
    replay = captured(module, torch.randn(2, 4))
    module.eval()
    with pytest.raises(ValueError, match="captured in training mode"):
        replay(torch.randn(2, 4))


def test_another_mode_of_a_part_is_refused() -> None:
    module, x = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), torch.randn(2, 4)
    replay = captured(module, x)
    module[1].eval()
    with pytest.raises(ValueError, match="captured in training mode, and a Dropout in it has left it"):
        replay(x)


@pytest.mark.parametrize("name", ["weight", "running_mean"])
def test_other_tensors_than_the_graphs_are_refused(name: str) -> None:
    """They would not be seen: results would go on as if nothing had been loaded."""
    module, x = nn.BatchNorm1d(4).eval(), torch.randn(2, 4)
    replay = captured(module, x)
    state = {key: one + 1 for key, one in module.state_dict().items()}
    module.load_state_dict(state)
    torch.testing.assert_close(replay(x), module(x))
    module.load_state_dict({name: state[name]}, strict=False, assign=True)
    with pytest.raises(ValueError, match=f"captured with another {name} than the module has now"):
        replay(x)


def test_two_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match="returns one tensor, not tuple"):
        captured(TwoOutputs(), torch.randn(2))


def test_it_says_what_it_is() -> None:
    with torch.no_grad():
        text = repr(captured(nn.Linear(4, 3), torch.randn(2, 4)))
    assert text == "Captured(Linear, (2, 4) of torch.float32 on cpu with strides (4, 1), forward alone)"


on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


@on_cuda
@pytest.mark.parametrize("name", MODULES)
def test_cuda_graphs_give_the_modules_outputs_and_gradients(name: str) -> None:
    if name == "counted":
        pytest.skip("makes a tensor on the CPU in its forward, which no CUDA graph may")
    module = MODULES[name]().cuda()
    replay = captured(module, torch.randn(2, 3, 4, device="cuda", requires_grad=True))
    for _ in range(2):
        x = torch.randn(2, 3, 4, device="cuda", requires_grad=True)
        sources = [x, *(one for one in module.parameters() if one.requires_grad)]
        expected, found = module(x), replay(x)
        g = torch.randn_like(expected)
        torch.testing.assert_close(found, expected)
        for one, other in zip(
            torch.autograd.grad(found, sources, g), torch.autograd.grad(expected, sources, g), strict=True
        ):
            torch.testing.assert_close(one, other)


@on_cuda
def test_what_comes_out_of_a_cuda_graph_outlives_the_next_replay() -> None:
    module = nn.Linear(4, 3).cuda()
    replay = captured(module, torch.randn(2, 4, device="cuda", requires_grad=True))
    xs = [torch.randn(2, 4, device="cuda", requires_grad=True) for _ in range(2)]
    outputs = []
    for x in xs:
        outputs.append(replay(x))
        torch.autograd.backward(outputs[-1].square().sum())
    found = [*outputs, *(one.grad for one in (*xs, *module.parameters()))]
    expected = [module(x) for x in xs]
    gradients = torch.autograd.grad(
        sum(one.square().sum() for one in expected),
        [*xs, *module.parameters()],
    )
    for one, other in zip(found, [*expected, *gradients], strict=True):
        torch.testing.assert_close(one, other)


@on_cuda
def test_a_backward_pass_that_comes_too_late_raises() -> None:
    replay = captured(nn.Linear(4, 3).cuda(), torch.randn(2, 4, device="cuda"))
    early, _ = replay(torch.randn(2, 4, device="cuda")), replay(torch.randn(2, 4, device="cuda"))
    with pytest.raises(RuntimeError, match="replayed again before this backward pass"):
        torch.autograd.backward(early.sum())
