"""The optimizer does its heavy work in every fourth step: the median of the steps is one of the others."""

import torch
from torch import nn

import stepmark as sm

FINDING = "uneven-iterations"
VARIANT = "retracted"
LAUNCHES = 5

suite = sm.Suite("orthogonal", axes={"features": [512]})


class Retracted(torch.optim.SGD):
    """The matrix is made orthogonal again now and then."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=1e-3)
        self.steps = 0

    def step(self):
        super().step()
        self.steps += 1
        if self.steps % 4 == 0:
            self.retract()

    @torch.no_grad()
    def retract(self):
        (weight,) = (one for one in self.param_groups[0]["params"] if one.dim() == 2)
        weight.copy_(torch.linalg.qr(weight).Q)


@suite.variant(baseline=True)
def adamw(c):
    return sm.Step(
        nn.Linear(c.features, c.features), inputs=sm.randn(128, c.features), optimizer=torch.optim.AdamW
    )


@suite.variant
def retracted(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(128, c.features), optimizer=Retracted)
