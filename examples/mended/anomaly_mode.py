"""Anomaly detection is off."""

from torch import nn

import stepmark as sm

suite = sm.Suite("training_depth", axes={"features": [64]})


@suite.variant(baseline=True)
def wide(c):
    return sm.Step(nn.Linear(c.features, 4 * c.features), inputs=sm.randn(32, c.features))


@suite.variant
def deep(c):
    layers = [nn.Linear(c.features, c.features) for _ in range(4)]
    return sm.Step(nn.Sequential(*layers), inputs=sm.randn(32, c.features))
