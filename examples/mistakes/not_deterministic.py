"""Functional dropout is on unless it is told otherwise: inference draws random numbers."""

from torch import nn

import stepmark as sm

FINDING = "not-deterministic"
VARIANT = "dropped"

suite = sm.Suite("dropout", axes={"features": [128]}, modes=["forward"])


class Dropped(nn.Linear):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x), p=0.1)


@suite.variant(baseline=True)
def plain(c):
    layer = nn.Linear(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(32, c.features), expects=sm.Expect(deterministic=True))


@suite.variant
def dropped(c):
    layer = Dropped(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(32, c.features), expects=sm.Expect(deterministic=True))
