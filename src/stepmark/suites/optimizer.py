"""AdamW steps: tensor by tensor as one reads it, over lists of tensors, and fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops
from stepmark.zoo import AdamW

suite = Suite(
    "optimizer",
    axes={"side": [512, 1024, 2048], "tensors": [1, 4, 16]},
    modes=["ops"],
    presets={
        "quick": {"side": [512], "tensors": [1]},
        "standard": {"side": [512], "tensors": [1, 4]},
        "published": {"side": [512], "tensors": [1]},
    },
    about="One AdamW step on square parameters with fixed gradients; published: one of 512 x 512.",
)

SETTINGS: dict[str, Any] = {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}


def _needs(c: Point) -> Needs:
    return Needs(memory=5.0 * torch.finfo(c.dtype).bits / 8 * c.tensors * c.side**2)


def _stepping(c: Point, make: Callable[[list[nn.Parameter]], Any]) -> Ops:
    parameters = [
        nn.Parameter(torch.randn(c.side, c.side, device=c.device, dtype=c.dtype)) for _ in range(c.tensors)
    ]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return Ops({"adamw_step": make(parameters).step})


@suite.variant(baseline=True, needs=_needs)
def readable(c: Point) -> Ops:
    """One elementary operation after the other, tensor by tensor."""
    return _stepping(c, lambda parameters: AdamW(parameters, **SETTINGS, backend="torch"))


@suite.variant(needs=_needs, accepts=["same-work-as-baseline"])
def zoo(c: Point) -> Ops:
    """The zoo's choice: on CUDA all tensors in one launch of a Triton kernel, on a CPU the readable way."""
    return _stepping(c, lambda parameters: AdamW(parameters, **SETTINGS))


@suite.variant(needs=_needs)
def plain(c: Point) -> Ops:
    """torch's own, tensor by tensor."""
    return _stepping(c, lambda parameters: torch.optim.AdamW(parameters, foreach=False, **SETTINGS))


@suite.variant(needs=_needs)
def foreach(c: Point) -> Ops:
    """torch's own over lists of tensors: its default on an accelerator."""
    return _stepping(c, lambda parameters: torch.optim.AdamW(parameters, foreach=True, **SETTINGS))


@suite.variant(needs=_needs)
def fused(c: Point) -> Ops:
    """torch's own in one pass."""
    return _stepping(c, lambda parameters: torch.optim.AdamW(parameters, fused=True, **SETTINGS))
