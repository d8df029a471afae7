"""All layers are converted when the model is built."""

import torch
from torch import nn

import stepmark as sm

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
        for number in range(DEPTH):
            self.convert(number)

    def forward(self, x):
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
