"""A training step as one graph: the parameters of plain steps, results of its own, and what it refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.zoo.losses import cross_entropy
from stepmark.zoo.sizes import TransformerConfig
from stepmark.zoo.step_graph import WARM_UP, StepGraph
from stepmark.zoo.transformer import TransformerLM

TINY = TransformerConfig(vocab=64, d_model=64, d_ff=128, layers=2, heads=2, context=16)
STEPS = WARM_UP + 4

gpu = pytest.mark.gpu

# Of torch's own: the first product of a process, and prototypes.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor"),
]


def adam(model: nn.Module, **options: Any) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), **{"lr": 1e-3, "fused": True, "capturable": True, **options})


def trainer(
    model: nn.Module, optimizer: torch.optim.Optimizer, *, autocast: bool = False
) -> Callable[[Tensor, Tensor], Tensor]:
    def train(tokens: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = cross_entropy(model(tokens), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    return train


def batches(number: int = STEPS) -> list[tuple[Tensor, Tensor]]:
    random = torch.Generator().manual_seed(0)
    drawn = torch.randint(TINY.vocab, (number, 2, 3, 16), generator=random).cuda()
    return [(one[0], one[1]) for one in drawn]


@gpu
@pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "autocast"])
def test_its_steps_are_plain_steps(fused: bool, autocast: bool) -> None:
    torch.manual_seed(0)
    model = TransformerLM(replace(TINY, fused=fused), device="cuda")
    twin = copy.deepcopy(model)
    optimizer, other = adam(model), adam(twin)
    step, plain = (
        StepGraph(trainer(model, optimizer, autocast=autocast), optimizer),
        trainer(twin, other, autocast=autocast),
    )
    for tokens, labels in batches():
        found = step(tokens, labels)
        other.zero_grad()
        torch.testing.assert_close(found, plain(tokens, labels).detach())
    assert step.captured
    assert step.calls == STEPS
    for one, exact in zip(model.parameters(), twin.parameters(), strict=True):
        # the same kernels on the same numbers; sums by atomics (the embedding's gradient) differ in order
        torch.testing.assert_close(one, exact, rtol=1e-5, atol=1e-5)
        assert one.grad is not None
        torch.testing.assert_close(one.grad, exact.grad, rtol=1e-4, atol=1e-5)


@gpu
def test_compiled_layers_are_captured_too() -> None:
    torch.compiler.reset()
    torch.manual_seed(0)
    model = TransformerLM(replace(TINY, fused=True), device="cuda")
    twin = copy.deepcopy(model)
    model.compile_layers()
    optimizer, other = adam(model), adam(twin)
    step, plain = StepGraph(trainer(model, optimizer), optimizer), trainer(twin, other)
    for tokens, labels in batches():
        found = step(tokens, labels)
        other.zero_grad()
        torch.testing.assert_close(found, plain(tokens, labels).detach(), rtol=1e-4, atol=1e-4)


@gpu
def test_results_are_the_callers_and_batches_may_come_from_the_host() -> None:
    model = TransformerLM(TINY, device="cuda")
    optimizer = adam(model)
    step = StepGraph(trainer(model, optimizer), optimizer)
    losses = [step(tokens.cpu().pin_memory(), labels.cpu()) for tokens, labels in batches()]
    kept = [float(loss) for loss in losses]
    step(*batches(1)[0])
    assert [float(loss) for loss in losses] == kept
    assert len(set(kept)) == len(kept)
    assert not any(loss.requires_grad for loss in losses)


@gpu
def test_its_memory_is_told() -> None:
    model = TransformerLM(TINY, device="cuda")
    optimizer = adam(model)
    step = StepGraph(trainer(model, optimizer), optimizer)
    assert step.pool_bytes == 0
    for tokens, labels in batches():
        step(tokens, labels)
    gradients = sum(4 * one.numel() for one in model.parameters())
    assert gradients < step.pool_bytes < 100 * gradients + (64 << 20)
    assert repr(step) == f"StepGraph(trainer.<locals>.train, captured after 3 calls, {STEPS} steps)"


@gpu
def test_dropout_draws_anew_at_every_replay() -> None:
    weight = nn.Parameter(torch.ones(1000, device="cuda"))
    step = StepGraph(lambda: nn.functional.dropout(weight, 0.5), parameters=[weight])
    results = [step() for _ in range(STEPS)]
    assert not torch.equal(results[-1], results[-2])


@gpu
def test_a_learning_rate_in_a_tensor_is_read_at_every_replay() -> None:
    weight = nn.Parameter(torch.zeros(4, device="cuda"))
    rate = torch.tensor(1.0, device="cuda")
    optimizer = torch.optim.AdamW([weight], lr=rate, weight_decay=0.0, capturable=True)

    def train() -> None:
        weight.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    step = StepGraph(train, optimizer)
    for _ in range(STEPS):
        step()
    before = weight.detach().clone()
    optimizer.param_groups[0]["lr"].fill_(0.0)
    step()
    assert torch.equal(weight.detach(), before)


@gpu
def test_a_number_that_changed_since_the_capture_is_refused() -> None:
    model = TransformerLM(TINY, device="cuda")
    optimizer = adam(model)
    step = StepGraph(trainer(model, optimizer), optimizer)
    for tokens, labels in batches():
        step(tokens, labels)
    optimizer.param_groups[0]["lr"] = 5e-4
    with pytest.raises(ValueError, match=r"lr was 0\.001 when the step was captured and is 0\.0005 now"):
        step(*batches(1)[0])


@gpu
def test_other_shapes_are_refused() -> None:
    model = TransformerLM(TINY, device="cuda")
    optimizer = adam(model)
    step = StepGraph(trainer(model, optimizer), optimizer)
    for tokens, labels in batches():
        step(tokens, labels)
    tokens, labels = batches(1)[0]
    with pytest.raises(ValueError, match=r"captured for \(\(3, 16\) of torch.int64, .*, got \(\(2, 16\)"):
        step(tokens[:2], labels[:2])


@gpu
def test_waiting_for_the_device_is_found_before_the_capture() -> None:
    weight = nn.Parameter(torch.ones(4, device="cuda"))

    def train() -> Tensor:
        loss = weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        if loss.item() > 1e9:
            raise AssertionError
        return loss

    step = StepGraph(train, parameters=[weight])
    for _ in range(WARM_UP - 1):
        step()
    with pytest.raises(ValueError, match="cannot be captured: it waits for the device"):
        step()
    assert torch.cuda.get_sync_debug_mode() == 0
    assert float(weight.detach().sum()) == 4.0, "the device goes on"


@gpu
def test_a_capture_that_fails_says_why_and_leaves_the_device_usable() -> None:
    weight = nn.Parameter(torch.ones(4, device="cuda"))
    calls = []

    def train() -> Tensor:
        calls.append(1)
        if len(calls) > WARM_UP:
            torch.cuda.synchronize()
        return weight.square().sum()

    step = StepGraph(train, parameters=[weight])
    for _ in range(WARM_UP):
        step()
    with pytest.raises(ValueError, match=r"cannot be captured: .*; in a captured step nothing may wait"):
        step()
    assert not step.captured
    assert float((weight.detach() + 1).sum()) == 8.0
    assert torch.randn(4, device="cuda").isfinite().all(), "random numbers wait for no graph"
    calls.clear()
    again = StepGraph(train, parameters=[weight])
    for _ in range(WARM_UP):
        assert float(again()) == 4.0


@gpu
def test_autocast_around_it_is_refused() -> None:
    weight = nn.Parameter(torch.ones(4, device="cuda"))
    step = StepGraph(weight.square, parameters=[weight])
    with (
        torch.autocast("cuda", torch.bfloat16),
        pytest.raises(ValueError, match="enter autocast inside the step"),
    ):
        step()


@gpu
def test_an_optimizer_that_counts_on_the_host_is_refused() -> None:
    weight = nn.Parameter(torch.ones(4, device="cuda"))
    with pytest.raises(ValueError, match=r"AdamW counts its steps on the host.*capturable=True"):
        StepGraph(weight.sum, torch.optim.AdamW([weight]))


def test_on_the_cpu_it_says_why_not() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="needs a CUDA device, and the parameters are on cpu"):
        StepGraph(model.forward, torch.optim.SGD(model.parameters(), lr=0.1))


def test_what_it_needs_is_told() -> None:
    with pytest.raises(ValueError, match="needs the optimizer, or the parameters"):
        StepGraph(torch.zeros)
    with pytest.raises(ValueError, match="one device, got cpu, meta"):
        StepGraph(torch.zeros, parameters=[torch.zeros(1), torch.zeros(1, device="meta")])
    with pytest.raises(ValueError, match="at least one call before the capture, got warm_up=0"):
        StepGraph(torch.zeros, parameters=[torch.zeros(1)], warm_up=0)
