"""Operations large enough to keep the device busy."""

from torch import nn

import stepmark as sm

suite = sm.Suite("tiny_operations", axes={"features": [65536]}, modes=["forward"])


class Chain(nn.Module):
    def forward(self, x):
        for _ in range(100):
            x = x.mul(1.01).add(0.01)
        return x


@suite.variant(baseline=True)
def chain(c):
    return sm.Step(Chain(), inputs=sm.randn(256, c.features))
