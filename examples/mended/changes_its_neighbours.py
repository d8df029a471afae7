"""The switch is turned on at the top, for all variants."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("determinism", axes={"features": [128]}, modes=["forward"])
torch.use_deterministic_algorithms(True)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))


@suite.variant
def reproducible(c):
    return sm.Step(nn.Linear(c.features, c.features, bias=False), inputs=sm.randn(64, c.features))
