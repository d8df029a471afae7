"""The inference benchmark borrows the training loop: backward and the optimizer run in it.

In print: a table's "Inference" rows came from a loop that recorded gradients, ran backward and stepped Adam;
only the module's flag was set to evaluation.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "not-the-declared-work"
VARIANT = "low_rank"

suite = sm.Suite("inference", axes={"features": [128]}, modes=["forward"])


def loop_over(model, features):
    optimizer = torch.optim.Adam(model.parameters())
    y = torch.randn(32, features)

    @torch.enable_grad()
    def step(x):
        output = model.eval()(x)
        optimizer.zero_grad()
        nn.functional.mse_loss(output, y).backward()
        optimizer.step()
        return output

    return sm.Step(step, inputs=sm.randn(32, features))


@suite.variant(baseline=True)
def dense(c):
    return loop_over(nn.Linear(c.features, c.features), c.features)


@suite.variant
def low_rank(c):
    thin = nn.Sequential(nn.Linear(c.features, 16, bias=False), nn.Linear(16, c.features))
    return loop_over(thin, c.features)
