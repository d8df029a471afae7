"""An iteration holds four steps of the optimizer, of which one does the heavy work: each is like the next."""

import torch
from torch import nn

import stepmark as sm

LAUNCHES = 5
STEPS = 4

suite = sm.Suite("orthogonal", axes={"features": [512]})


def in_turns(kind):
    """A whole turn of steps, with the gradients of one."""

    class InTurns(kind):
        def step(self):
            for _ in range(STEPS):
                super().step()

    return InTurns


class Retracted(torch.optim.SGD):
    """The matrix is made orthogonal again now and then."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=1e-3)
        self.steps = 0

    def step(self):
        super().step()
        self.steps += 1
        if self.steps % STEPS == 0:
            self.retract()

    @torch.no_grad()
    def retract(self):
        (weight,) = (one for one in self.param_groups[0]["params"] if one.dim() == 2)
        weight.copy_(torch.linalg.qr(weight).Q)


@suite.variant(baseline=True)
def adamw(c):
    return sm.Step(
        nn.Linear(c.features, c.features),
        inputs=sm.randn(128, c.features),
        optimizer=in_turns(torch.optim.AdamW),
    )


@suite.variant
def retracted(c):
    return sm.Step(
        nn.Linear(c.features, c.features), inputs=sm.randn(128, c.features), optimizer=in_turns(Retracted)
    )
