"""The step is written with operations that autograd knows, and has an optimizer that must run."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("full_training_step", axes={"features": [128]})
RANK = 8


class Adapter(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.a = nn.Parameter(torch.randn(features, RANK))
        self.b = nn.Parameter(torch.randn(RANK, features))

    def forward(self, x):
        return (x @ self.a) @ self.b


@suite.variant(baseline=True)
def complete_iteration(c):
    return sm.Step(
        Adapter(c.features),
        inputs=sm.randn(64, c.features),
        target=sm.randint(c.features, 64),
        loss=nn.functional.cross_entropy,
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-4),
    )
