"""Undisturbed calls: autograd as in a fresh program, wherever the caller stands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from stepmark.zoo.kernels.undisturbed import undisturbed


def gradient(device: str) -> Tensor:
    """By a whole forward and backward pass."""
    leaf = torch.ones(2, 2, device=device, requires_grad=True)
    y = leaf @ leaf
    assert y.dtype is torch.float32, "no autocast"
    return torch.autograd.grad(y.sum(), leaf)[0].cpu()


WANTED = torch.full((2, 2), 4.0)


@pytest.mark.parametrize(
    "around",
    [
        lambda _: torch.no_grad(),
        lambda _: torch.inference_mode(),
        partial(torch.autocast, dtype=torch.bfloat16),
        lambda _: torch._C._AutoDispatchBelowAutograd(),  # as inside an operator of torch.library
    ],
    ids=["no_grad", "inference", "autocast", "operator"],
)
def test_what_the_caller_has_switched_does_not_reach_it(
    device: str, around: Callable[[str], AbstractContextManager[Any]]
) -> None:
    with around(device):
        found = undisturbed(partial(gradient, device))
    assert torch.equal(found, WANTED)


def test_a_failure_goes_on() -> None:
    def fails() -> None:
        raise RuntimeError("out of shared memory")

    with pytest.raises(RuntimeError, match="out of shared memory"):
        undisturbed(fails)


def test_checkpoints_do_not_count_what_it_keeps(device: str) -> None:
    """A forward pass that keeps more than its repetition is refused by torch."""
    found: list[Tensor] = []

    def layer(x: Tensor) -> Tensor:
        if not found:
            found.append(undisturbed(partial(gradient, device)))
        return (x * x).exp()

    x = torch.ones(3, device=device, requires_grad=True)
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert x.grad is not None
    assert len(found) == 1


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_inside_a_backward_pass_no_other_thread_is_waited_for(
    device: str, mode: Callable[[], AbstractContextManager[Any]]
) -> None:
    """That thread's passes would be run by the one that waits."""
    found: list[Tensor] = []

    class Asking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            with mode(), torch.autocast(device, dtype=torch.bfloat16):
                found.append(undisturbed(partial(gradient, device)))
                assert undisturbed(threading.get_ident) == threading.get_ident()
            return grad

    x = torch.ones(3, device=device, requires_grad=True)
    Asking.apply(x).sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(found[0], WANTED)
    assert undisturbed(threading.get_ident) != threading.get_ident()
