"""The four workloads of the study as plain calls, and the work that is injected into them.

An injected slowdown is a loop of a counted number of empty turns after each call, as in the self-test. The
base runs the same loop without turns, so that the slowdown is the turns alone: their count times the price of
one, which calibration.py measures inside the workload itself.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from stepmark.suites.selftest import Call, norm_softmax


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
