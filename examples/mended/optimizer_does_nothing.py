"""The step makes the optimizer itself, from the parameters of the module it trains."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("optimizers", axes={"features": [128]})


def training(model, make_optimizer, features):
    return sm.Step(
        model,
        inputs=sm.randn(32, features),
        target=sm.randn(32, features),
        loss=nn.functional.mse_loss,
        optimizer=make_optimizer,
    )


@suite.variant(baseline=True)
def adam(c):
    return training(nn.Linear(c.features, c.features), torch.optim.Adam, c.features)


@suite.variant
def descent(c):
    return training(nn.Linear(c.features, c.features), torch.optim.SGD, c.features)
