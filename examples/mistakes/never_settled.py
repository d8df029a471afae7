"""A model converts two of its layers a call: its warm-up lasts for half as many calls as it has layers.

To be seen here, the warm-up must be cut off early: the tests allow it half a second.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "never-settled"
VARIANT = "converting"

suite = sm.Suite("conversion", axes={"features": [256]}, modes=["forward"])
DEPTH = 12
ROWS = 2048


class ByRows(nn.Linear):
    """As it comes from the exporter: one row at a time."""

    def forward(self, x):
        return torch.stack([super(ByRows, self).forward(row) for row in x])


class Converting(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(ByRows(features, features) for _ in range(DEPTH))
        self.converted = 0

    def forward(self, x):
        for number in range(self.converted, min(self.converted + 2, DEPTH)):
            self.convert(number)
            self.converted += 1
        for layer in self.layers:
            x = layer(x)
        return x

    def convert(self, number):
        old = self.layers[number]
        new = nn.Linear(old.in_features, old.out_features)
        new.weight, new.bias = old.weight, old.bias
        new.train(old.training)
        self.layers[number] = new


@suite.variant(baseline=True)
def converting(c):
    return sm.Step(Converting(c.features), inputs=sm.randn(ROWS, c.features))
