"""Each layer is made by a call of its own."""

from torch import nn

import stepmark as sm

suite = sm.Suite("depth", axes={"features": [64]})
DEPTH = 4


@suite.variant(baseline=True)
def shallow(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))


@suite.variant
def deep(c):
    layers = [nn.Linear(c.features, c.features) for _ in range(DEPTH)]
    return sm.Step(
        nn.Sequential(*layers),
        inputs=sm.randn(32, c.features),
        expects=sm.Expect(parameters=DEPTH * (c.features**2 + c.features)),
    )
