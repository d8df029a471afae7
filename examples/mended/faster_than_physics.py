"""The layer computes its output in every call."""

import torch
from torch import nn

import stepmark as sm

LAUNCHES = 3

suite = sm.Suite("hypernetwork", axes={"features": [256]}, modes=["forward"])


class Hyper(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.generator = nn.Parameter(torch.randn(features, features) / features**0.5)

    def forward(self, x):
        return (x @ self.generator) @ self.generator


@suite.variant(baseline=True)
def always(c):
    return sm.Step(Hyper(c.features), inputs=sm.randn(128, c.features))
