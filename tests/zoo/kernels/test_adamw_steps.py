"""Optimizers with the kernel: step for step as without, with state that moves between them, in graphs too."""

from __future__ import annotations

import copy
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from stepmark.zoo.adam import TOLERANCES, Adam, AdamW
from stepmark.zoo.kernels import adamw

SHAPES = ((3, 5), (70,), (), (0, 4), (33,))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adamw, "PIECE", 32)


def parameters(device: str, dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator).to(device, dtype)) for shape in SHAPES]


def train(
    optimizer: torch.optim.Optimizer, trained: list[nn.Parameter], *, steps: int, first: int = 0
) -> None:
    """With gradients that depend on the step alone, and lie elsewhere in every step."""
    kept = []
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(step)
        for one in trained:
            one.grad = torch.randn(one.shape, generator=generator).to(one.device, one.dtype)
            kept.append(one.grad)
        optimizer.step()


def assert_same(found: list[nn.Parameter], expected: list[nn.Parameter], tolerance: float = 1e-5) -> None:
    for one, other in zip(found, expected, strict=True):
        largest = float(other.detach().abs().max()) if other.numel() else 0.0
        torch.testing.assert_close(
            one.detach().double(), other.detach().double(), rtol=0.0, atol=tolerance * largest
        )


@pytest.mark.parametrize("make", [Adam, AdamW])
def test_it_steps_as_the_readable_one(device: str, make: type[Adam]) -> None:
    ours, right = parameters(device), parameters(device)
    train(make(ours, lr=0.01, weight_decay=0.1, backend="triton"), ours, steps=5)
    train(make(right, lr=0.01, weight_decay=0.1, backend="torch"), right, steps=5)
    assert_same(ours, right)


def test_groups_of_their_own_settings_that_change(device: str) -> None:
    def run(backend: Any) -> list[nn.Parameter]:
        own = parameters(device)
        optimizer = AdamW(
            [{"params": own[:2], "lr": 0.1}, {"params": own[2:], "weight_decay": 0.3}], backend=backend
        )
        train(optimizer, own, steps=2)
        optimizer.param_groups[0]["lr"] = 0.001
        optimizer.param_groups[1]["betas"] = (0.5, 0.6)
        train(optimizer, own, steps=2, first=2)
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(6, device=device))], "lr": 0.5})
        own += optimizer.param_groups[-1]["params"]
        train(optimizer, own, steps=2, first=4)
        return own

    assert_same(run("triton"), run("torch"))


@pytest.mark.parametrize("state_dtype", [None, torch.float32])
def test_half_parameters(device: str, state_dtype: torch.dtype | None) -> None:
    ours = parameters(device, torch.bfloat16)
    right = [nn.Parameter(one.detach().double()) for one in ours]
    optimizer = AdamW(ours, lr=0.01, eps=1e-4, state_dtype=state_dtype, backend="triton")
    readable = AdamW(right, lr=0.01, eps=1e-4, backend="torch")
    for step in range(5):
        for one, other in zip(ours, right, strict=True):
            one.grad = torch.randn(one.shape, generator=torch.Generator().manual_seed(step)).to(one)
            other.grad = one.grad.double()
        optimizer.step()
        readable.step()
    assert_same(ours, right, TOLERANCES[torch.bfloat16])
    assert optimizer.state[ours[0]]["exp_avg"].dtype == (state_dtype or torch.bfloat16)


def test_float32_moments_of_half_parameters_keep_what_half_ones_lose(device: str) -> None:
    """In bfloat16 a second moment near its mean no longer moves: 1/1000 of it is below half an ulp."""
    for backend in ("triton", "torch"):
        (parameter,) = [nn.Parameter(torch.ones(16, device=device, dtype=torch.bfloat16))]
        optimizer = AdamW([parameter], state_dtype=torch.float32, backend=backend)
        train(optimizer, [parameter], steps=3)
        state = optimizer.state[parameter]
        reloaded = AdamW([parameter], state_dtype=torch.float32, backend=backend)
        reloaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        for name in ("exp_avg", "exp_avg_sq"):
            assert reloaded.state[parameter][name].dtype == torch.float32
            assert torch.equal(reloaded.state[parameter][name], state[name])


@pytest.mark.parametrize("first", ["triton", "torch", "torch.optim"])
@pytest.mark.parametrize("second", ["triton", "torch", "torch.optim"])
def test_state_moves_between_backends_and_torch(device: str, first: str, second: str) -> None:
    def make(of: list[nn.Parameter], backend: Any) -> torch.optim.Optimizer:
        if backend == "torch.optim":
            return torch.optim.AdamW(of, lr=0.1, foreach=False)
        return AdamW(of, lr=0.1, backend=backend)

    straight, handed = parameters(device), parameters(device)
    train(make(straight, "torch"), straight, steps=6)
    one = make(handed, first)
    train(one, handed, steps=4)
    other = make(handed, second)
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    train(other, handed, steps=2, first=4)
    assert_same(handed, straight)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_go_on_by_themselves(device: str, duplicate: Callable[[Any], Any]) -> None:
    own, right = parameters(device), parameters(device)
    optimizer = AdamW(own, lr=0.1, state_dtype=torch.float32, backend="triton")
    train(optimizer, own, steps=2)
    copied = duplicate(optimizer)
    assert (copied.backend, copied.state_dtype) == ("triton", torch.float32)
    theirs = copied.param_groups[0]["params"]
    train(copied, theirs, steps=2, first=2)
    train(AdamW(right, lr=0.1, backend="torch"), right, steps=4)
    assert_same(theirs, right)
    train(optimizer, own, steps=2, first=2)
    assert_same(own, right)


def test_parameters_without_a_gradient_stay_and_keep_their_count(device: str) -> None:
    own = parameters(device)
    optimizer = AdamW(own, backend="triton")
    still = own[1].detach().clone()
    train(optimizer, [own[0], own[2]], steps=2)
    assert torch.equal(own[1], still)
    assert own[1] not in optimizer.state
    train(optimizer, own, steps=1)
    assert [float(optimizer.state[one]["step"]) for one in own[:3]] == [3, 1, 3]


def test_what_the_kernel_does_not_take_is_stepped_all_the_same(device: str) -> None:
    """float64, parameters and gradients that are not contiguous: tensor by tensor."""

    def run(backend: Any) -> list[nn.Parameter]:
        torch.manual_seed(0)
        own = [
            nn.Parameter(torch.randn(4, 6, device=device)),
            nn.Parameter(torch.randn(4, 6, device=device).T),
            nn.Parameter(torch.randn(7, device=device, dtype=torch.float64)),
        ]
        optimizer = AdamW(own, lr=0.1, backend=backend)
        for step in range(4):
            generator = torch.Generator().manual_seed(step)
            for one in own:
                one.grad = torch.randn(one.shape, generator=generator).to(one)
            own[0].grad = torch.randn(6, 4, generator=generator).to(device).T if step % 2 else own[0].grad
            optimizer.step()
        return own

    assert_same(run("triton"), run("torch"))


def test_a_parameter_that_moves_is_followed_and_its_version_counts(device: str) -> None:
    own, right = parameters(device), parameters(device)
    optimizer, readable = AdamW(own, lr=0.1, backend="triton"), AdamW(right, lr=0.1, backend="torch")
    train(optimizer, own, steps=1)
    own[0].data = own[0].detach().clone()
    version = own[0]._version
    train(optimizer, own, steps=1, first=1)
    assert own[0]._version > version
    train(readable, right, steps=2)
    assert_same(own, right)


def test_a_learning_rate_on_the_device_is_read_there(device: str) -> None:
    lr = torch.tensor(0.1, device=device)
    own, right = parameters(device), parameters(device)
    optimizer, readable = AdamW(own, lr=lr, backend="triton"), AdamW(right, lr=0.1, backend="torch")
    train(optimizer, own, steps=1)
    lr.fill_(0.02)
    train(optimizer, own, steps=2, first=1)
    train(readable, right, steps=1)
    readable.param_groups[0]["lr"] = 0.02
    train(readable, right, steps=2, first=1)
    assert_same(own, right)


def test_a_sparse_gradient_is_refused(device: str) -> None:
    table = nn.Embedding(4, 2, sparse=True, device=device)
    table(torch.tensor([1], device=device)).sum().backward()
    with pytest.raises(ValueError, match="dense, real gradient, got a sparse one"):
        AdamW(table.parameters(), backend="triton").step()


def reset(optimizer: Adam) -> None:
    optimizer.state.clear()


def reset_a_moment(optimizer: Adam) -> None:
    for state in optimizer.state.values():
        state["exp_avg_sq"] = torch.ones_like(state["exp_avg_sq"])


def count_anew(optimizer: Adam) -> None:
    for state in optimizer.state.values():
        state["step"] = 0


@pytest.mark.parametrize("change", [reset, reset_a_moment, count_anew])
def test_state_that_is_replaced_is_seen(device: str, change: Callable[[Adam], None]) -> None:
    """Where all else lies as it lay, gradients too."""

    def run(backend: Any) -> list[nn.Parameter]:
        trained = parameters(device)
        optimizer = AdamW(trained, lr=0.01, backend=backend)
        for step in range(4):
            for one in trained:
                one.grad = torch.ones_like(one) if one.grad is None else one.grad.fill_(step + 1.0)
            if step == 2:
                change(optimizer)
            optimizer.step()
        return trained

    assert_same(run("triton"), run("torch"))


def test_tables_keep_no_gradient_alive(device: str) -> None:
    own = parameters(device)
    optimizer = AdamW(own, backend="triton")
    train(optimizer, own, steps=1)
    gradient = own[0].grad
    assert gradient is not None
    gone = weakref.ref(gradient)
    del gradient
    own[0].grad = None
    assert gone() is None


def channels_last(name: str, value: Any) -> Any:
    return value if name == "step" else value.to(memory_format=torch.channels_last)


def counted_in_float64(name: str, value: Any) -> Any:
    return torch.as_tensor(value, dtype=torch.float64) if name == "step" else value


@pytest.mark.parametrize("saved", [channels_last, counted_in_float64])
def test_loaded_state_may_lie_otherwise(device: str, saved: Callable[[str, Any], Any]) -> None:
    """Moments keep their strides when they are loaded, and torch counts in its default dtype."""

    def run(backend: Any) -> list[nn.Parameter]:
        trained = [nn.Parameter(torch.arange(2 * 3 * 4 * 5.0, device=device).view(2, 3, 4, 5).sin())]
        optimizer = AdamW(trained, lr=0.01, backend=backend)
        train(optimizer, trained, steps=2)
        state = optimizer.state_dict()
        for one in state["state"].values():
            one |= {name: saved(name, value) for name, value in one.items()}
        optimizer.load_state_dict(state)
        train(optimizer, trained, steps=2, first=2)
        return trained

    assert_same(run("triton"), run("torch"))


@pytest.mark.skipif(not hasattr(torch.Tensor, "grad_dtype"), reason="gradients have the parameter's dtype")
def test_gradients_in_float32_of_half_parameters(device: str) -> None:
    def run(backend: Any) -> list[nn.Parameter]:
        trained = parameters(device, torch.bfloat16)
        optimizer = AdamW(trained, lr=0.01, backend=backend)
        for one in trained:
            one.grad_dtype = torch.float32
            one.grad = torch.ones_like(one, dtype=torch.float32)
        optimizer.step()
        return trained

    assert_same(run("triton"), run("torch"))


def test_moments_on_another_device_are_refused_as_torch_does(device: str) -> None:
    own = parameters(device)
    optimizer = AdamW(own, backend="triton")
    train(optimizer, own, steps=1)
    for state in optimizer.state.values():
        state["exp_avg"] = state["exp_avg"].to("meta")
    with pytest.raises(RuntimeError, match="device"):
        train(optimizer, own, steps=1, first=1)


def test_nothing_to_step(device: str) -> None:
    AdamW(parameters(device), backend="triton").step()


@pytest.mark.gpu
@pytest.mark.parametrize("own_gradients", [True, False])
def test_replays_of_a_captured_step_are_steps(device: str, own_gradients: bool) -> None:
    """With gradients that lie where they lay, and with ones that the graph makes."""
    lr = torch.tensor(0.05, device=device)
    own, right = parameters(device), parameters(device)
    optimizer, readable = AdamW(own, lr=lr, backend="triton"), AdamW(right, lr=0.05, backend="torch")
    still = [torch.ones_like(one) for one in own]

    def step() -> None:
        for one, gradient in zip(own, still, strict=True):
            one.grad = gradient if own_gradients else one.detach() * 0.0 + 1.0
        optimizer.step()

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(3):
        graph.replay()
    lr.fill_(0.01)
    optimizer.param_groups[0]["weight_decay"] = 0.5
    optimizer.write_settings()
    graph.replay()
    for index in range(5):
        if index == 4:
            readable.param_groups[0] |= {"lr": 0.01, "weight_decay": 0.5}
        for one in right:
            one.grad = torch.ones_like(one)
        readable.step()
    assert_same(own, right)
    assert float(optimizer.state[own[0]]["step"]) == 5


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty:UserWarning")
def test_a_capture_without_a_step_before_it_is_refused(device: str) -> None:
    own = parameters(device)
    for one in own:
        one.grad = torch.ones_like(one)
    optimizer = AdamW(own, backend="triton")
    with (
        pytest.raises(RuntimeError, match="take it before a capture"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        optimizer.step()
