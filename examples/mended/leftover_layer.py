"""Every layer is made by its own variant: nothing else is alive while it is timed."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("memory", axes={"features": [512]})


@suite.variant(baseline=True)
def dense(c):
    layer = nn.Linear(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(16, c.features), optimizer=torch.optim.Adam)


@suite.variant
def low_rank(c):
    thin = nn.Sequential(nn.Linear(c.features, 64, bias=False), nn.Linear(64, c.features))
    return sm.Step(thin, inputs=sm.randn(16, c.features), optimizer=torch.optim.Adam)
