"""A chain of tiny operations on an accelerator: Python issues them more slowly than the device runs them."""

from torch import nn

import stepmark as sm

FINDING = "host-bound"
VARIANT = "chain"
DEVICE = "cuda"

suite = sm.Suite("tiny_operations", axes={"features": [64]}, modes=["forward"])


class Chain(nn.Module):
    def forward(self, x):
        for _ in range(100):
            x = x.mul(1.01).add(0.01)
        return x


@suite.variant(baseline=True)
def chain(c):
    return sm.Step(Chain(), inputs=sm.randn(16, c.features))
