"""Two small layers: the least that can be compared."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("plain", axes={"features": [16, 32]}, modes=["train", "forward"])


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(
        nn.Linear(c.features, c.features),
        inputs=sm.randn(4, c.features),
        target=sm.randn(4, c.features),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.SGD,
    )


@suite.variant
def bare(c):
    return sm.Step(
        nn.Linear(c.features, c.features, bias=False),
        inputs=sm.randn(4, c.features),
        target=sm.randn(4, c.features),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.SGD,
    )
