"""A layer turns a global switch on when it is called: from then on it holds for everybody."""

import torch
from torch import nn

import stepmark as sm

FINDING = "changes-its-neighbours"
VARIANT = "reproducible"

suite = sm.Suite("determinism", axes={"features": [128]}, modes=["forward"])


class Reproducible(nn.Linear):
    def forward(self, x):
        torch.use_deterministic_algorithms(True)
        return super().forward(x)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))


@suite.variant
def reproducible(c):
    return sm.Step(Reproducible(c.features, c.features), inputs=sm.randn(64, c.features))
