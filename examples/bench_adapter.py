"""A LoRA adapter on a frozen layer: a whole training step, with what it should train and compute."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("adapter", axes={"features": [256], "rank": [8]})
TOKENS = 64


class Adapted(nn.Module):
    def __init__(self, features, rank):
        super().__init__()
        self.base = nn.Linear(features, features).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(features, rank) / rank**0.5)
        self.b = nn.Parameter(torch.zeros(rank, features))

    def forward(self, x):
        return self.base(x) + (x @ self.a) @ self.b


def step(module, features, **claims):
    return sm.Step(
        module,
        inputs=sm.randn(TOKENS, features),
        target=sm.randn(TOKENS, features),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.AdamW,
        expects=sm.Expect(output=(TOKENS, features), **claims),
    )


@suite.variant(baseline=True)
def dense(c):
    """All of the layer is trained."""
    return step(nn.Linear(c.features, c.features), c.features, parameters=c.features**2 + c.features)


@suite.variant
def adapter(c):
    """The layer is frozen, two thin matrices are trained."""
    return step(Adapted(c.features, c.rank), c.features)
