"""The activation works in place on the layer's output, which is nobody else's."""

from torch import nn

import stepmark as sm

suite = sm.Suite("in_place_activation", axes={"features": [128]}, modes=["forward"])


@suite.variant(baseline=True)
def out_of_place(c):
    return sm.Step(
        nn.Sequential(nn.Linear(c.features, c.features), nn.ReLU()), inputs=sm.randn(64, c.features)
    )


@suite.variant
def in_place(c):
    return sm.Step(
        nn.Sequential(nn.Linear(c.features, c.features), nn.ReLU(inplace=True)),
        inputs=sm.randn(64, c.features),
    )
