"""The learning rate lets training go on: weights stay what weights are."""

import torch
from torch import nn

import stepmark as sm

RATE = 0.1

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
