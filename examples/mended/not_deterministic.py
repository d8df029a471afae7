"""Dropout follows the module's own mode."""

from torch import nn

import stepmark as sm

suite = sm.Suite("dropout", axes={"features": [128]}, modes=["forward"])


class Dropped(nn.Linear):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x), p=0.1, training=self.training)


@suite.variant(baseline=True)
def plain(c):
    layer = nn.Linear(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(32, c.features), expects=sm.Expect(deterministic=True))


@suite.variant(accepts=["same-work-as-baseline"])
def dropped(c):
    layer = Dropped(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(32, c.features), expects=sm.Expect(deterministic=True))
