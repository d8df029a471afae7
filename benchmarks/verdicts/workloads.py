"""The four workloads of the study as plain calls, and the work that is injected into them.

An injected slowdown is a loop of a counted number of empty turns after each call. Its turns cost the same
whatever their number (`itertools.repeat` makes no integers). The base runs the same loop without turns, so
that the slowdown is the turns alone: their count times the price of one, which calibration.py measures inside
the workload itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat

import torch
from torch import nn
from torch.nn import functional

Call = Callable[[], object]


def norm_softmax() -> Call:
    """Layer norm and softmax of 64 x 512."""
    x = torch.randn(64, 512)
    norm = nn.LayerNorm(512)

    def call() -> object:
        with torch.no_grad():
            return functional.softmax(norm(x), dim=-1)

    return call


def lora() -> Call:
    """A linear layer of 512 x 512 with an adapter of rank 8, forward, 64 tokens."""
    x = torch.randn(64, 512)
    base = nn.Linear(512, 512)
    down = nn.Linear(512, 8, bias=False)
    up = nn.Linear(8, 512, bias=False)

    def call() -> object:
        with torch.no_grad():
            return base(x) + 2.0 * up(down(x))

    return call


def linear() -> Call:
    """A linear layer of 1024 x 1024, forward and backward, 64 rows."""
    x = torch.randn(64, 1024, requires_grad=True)
    layer = nn.Linear(1024, 1024)
    gradient = torch.randn(64, 1024)
    wanted = (x, *layer.parameters())

    def call() -> object:
        return torch.autograd.grad(layer(x), wanted, gradient)

    return call


def adamw() -> Call:
    """One AdamW step on a million parameters."""
    parameters = [nn.Parameter(torch.randn(500, 500)) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return torch.optim.AdamW(parameters, lr=1e-4).step


WORKLOADS: dict[str, Callable[[], Call]] = {
    "norm_softmax": norm_softmax,
    "lora": lora,
    "linear": linear,
    "adamw": adamw,
}


def slowed(call: Call, turns: int) -> Call:
    """The call with that many empty turns after it; 0 for the base."""

    def with_turns() -> None:
        call()
        for _ in repeat(None, turns):
            pass

    return with_turns
