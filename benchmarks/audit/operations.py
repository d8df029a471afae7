"""Ways to write operations: gradients kept, cleared, or never stored; kernels that torch does not see."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.audit.layers import FEATURES, small_net
from stepmark.authoring.workload import Ops

TOKENS = 24


def foreign_operations() -> Ops:
    left, right = torch.randn(TOKENS, FEATURES), torch.randn(FEATURES, FEATURES)
    out = torch.empty(TOKENS, FEATURES)
    forward, backward = out.numpy(), torch.empty(FEATURES, FEATURES).numpy()

    def run_forward() -> None:
        forward[...] = left.numpy() @ right.numpy()

    def run_backward() -> None:
        backward[...] = left.numpy().T @ forward

    return Ops({"forward": run_forward, "backward": run_backward})


def retained_backward() -> Ops:
    net, x = small_net(), torch.randn(TOKENS, FEATURES)
    loss = net(x).square().mean()

    def backward() -> None:
        net.zero_grad()
        loss.backward(retain_graph=True)

    return Ops({"forward": lambda: net(x), "backward": backward}, totals={"both": ["forward", "backward"]})


def backward_by_grad() -> Ops:
    net, x = small_net(), torch.randn(TOKENS, FEATURES)
    parameters = list(net.parameters())
    return Ops({"forward and backward": lambda: torch.autograd.grad(net(x).square().mean(), parameters)})


def functional_gradient() -> Ops:
    net, x = small_net(), torch.randn(TOKENS, FEATURES)
    weights = {name: parameter.detach() for name, parameter in net.named_parameters()}

    def loss(weights: dict[str, Tensor]) -> Tensor:
        out: Tensor = torch.func.functional_call(net, weights, (x,))
        return out.square().mean()

    return Ops({"backward": lambda: torch.func.grad(loss)(weights)})


def whole_step() -> Ops:
    net, x, y = small_net(), torch.randn(TOKENS, FEATURES), torch.randn(TOKENS, FEATURES)
    optimizer = torch.optim.AdamW(net.parameters())

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return Ops({"step": step})


def accumulated_on_purpose() -> Ops:
    net, batches = small_net(), torch.randn(4, TOKENS, FEATURES)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step() -> None:
        for batch in batches:
            loss: Tensor = net(batch).square().mean() / len(batches)
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()

    return Ops({"four batches": step})


def optimizer_alone() -> Ops:
    net = small_net()
    for parameter in net.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.AdamW(net.parameters())
    return Ops({"optimizer": optimizer.step})


def hand_written_update() -> Ops:
    weight, gradient = torch.randn(FEATURES, FEATURES), torch.randn(FEATURES, FEATURES)
    return Ops({"sgd": lambda: weight.sub_(gradient, alpha=1e-3)})


def exponential_average() -> Ops:
    net = small_net()
    average = copy.deepcopy(net)

    @torch.no_grad()
    def update() -> None:
        for kept, new in zip(average.parameters(), net.parameters(), strict=True):
            kept.lerp_(new, 0.01)

    return Ops({"average": update})


def parts_with_references() -> Ops:
    q, k = torch.randn(TOKENS, FEATURES), torch.randn(TOKENS, FEATURES)
    scores = q @ k.T
    return Ops(
        {"scores": lambda: q @ k.T, "softmax": lambda: scores.softmax(-1), "sum": scores.sum},
        totals={"attention": ["scores", "softmax"]},
        references={
            "scores": lambda: q.double() @ k.double().T,
            "softmax": lambda: scores.double().softmax(-1),
        },
    )


def into_given_memory() -> Ops:
    left, right = torch.randn(TOKENS, FEATURES), torch.randn(FEATURES, FEATURES)
    out = torch.empty(TOKENS, FEATURES)
    return Ops({"product": lambda: torch.mm(left, right, out=out)})


def plain_python() -> Ops:
    numbers = list(range(1000))
    return Ops({"sum": lambda: sum(numbers)})


OPERATIONS: dict[str, Callable[[], Ops]] = {
    "foreign operations": foreign_operations,
    "retained backward": retained_backward,
    "backward by grad": backward_by_grad,
    "functional gradient": functional_gradient,
    "whole step": whole_step,
    "accumulated on purpose": accumulated_on_purpose,
    "optimizer alone": optimizer_alone,
    "hand-written update": hand_written_update,
    "exponential average": exponential_average,
    "parts with references": parts_with_references,
    "into given memory": into_given_memory,
    "plain Python": plain_python,
}
"""By name."""
