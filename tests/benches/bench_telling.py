"""Variants that say with what values and where in memory they were built."""

from __future__ import annotations

import torch
from torch import nn

from stepmark import Point, Step, Suite

suite = Suite("telling", modes=["forward"])


def telling(name: str, _c: Point) -> Step:
    layer = nn.Linear(256, 256)
    print(f"built {name} {layer.weight[0, 0].item():.9f} {layer.weight.data_ptr():x}")
    return Step(layer, inputs=[torch.randn(4, 256)])


@suite.variant(baseline=True)
def one(c: Point) -> Step:
    return telling("one", c)


@suite.variant
def other(c: Point) -> Step:
    return telling("other", c)
