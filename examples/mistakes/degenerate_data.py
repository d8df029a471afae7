"""The layer is timed on zeros: nothing that data can do to time and power happens."""

from torch import nn

import stepmark as sm

FINDING = "degenerate-data"
VARIANT = "relu"

suite = sm.Suite("activations", axes={"features": [256]}, modes=["forward"])


@suite.variant(baseline=True)
def relu(c):
    return sm.Step(nn.ReLU(), inputs=sm.zeros(64, c.features))


@suite.variant
def gelu(c):
    return sm.Step(nn.GELU(), inputs=sm.zeros(64, c.features))
