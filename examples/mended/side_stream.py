"""The current stream waits for the layer's own, so that the clock does too."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("streams", axes={"features": [8192]}, modes=["forward"])


class Streamed(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            y = super().forward(x)
        torch.cuda.current_stream().wait_stream(self.stream)
        return y


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(4096, c.features))


@suite.variant
def streamed(c):
    return sm.Step(Streamed(c.features), inputs=sm.randn(4096, c.features))
