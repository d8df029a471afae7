"""The learning rate is too high: after a hundred steps every weight is NaN, and that is what is timed."""

import torch
from torch import nn

import stepmark as sm

FINDING = "degenerate-data"
VARIANT = "sgd"
RATE = 32.0

suite = sm.Suite("optimizers", axes={"features": [64]})


def step(c, optimizer):
    return sm.Step(
        nn.Linear(c.features, c.features),
        inputs=sm.randn(64, c.features),
        loss=nn.functional.mse_loss,
        target=sm.randn(64, c.features),
        optimizer=optimizer,
    )


@suite.variant(baseline=True)
def adam(c):
    return step(c, torch.optim.Adam)


@suite.variant
def sgd(c):
    return step(c, lambda parameters: torch.optim.SGD(parameters, lr=RATE))
