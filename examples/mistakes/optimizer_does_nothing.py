"""The optimizer holds the parameters of the module that the trained one was copied from."""

import copy

import torch
from torch import nn

import stepmark as sm

FINDING = "optimizer-does-nothing"
VARIANT = "adam"

suite = sm.Suite("optimizers", axes={"features": [128]}, modes=["ops"])


def training(original, make_optimizer, features):
    optimizer = make_optimizer(original.parameters())
    model = copy.deepcopy(original)  # so that every optimizer starts from the same weights
    x, y = torch.randn(32, features), torch.randn(32, features)

    def forward_backward():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()

    return sm.Ops(
        {"forward and backward": forward_backward, "optimizer": optimizer.step},
        totals={"step": ["forward and backward", "optimizer"]},
    )


@suite.variant(baseline=True)
def adam(c):
    return training(nn.Linear(c.features, c.features), torch.optim.Adam, c.features)


@suite.variant
def descent(c):
    return training(nn.Linear(c.features, c.features), torch.optim.SGD, c.features)
