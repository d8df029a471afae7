"""The batch is described, and made before the clock starts."""

from torch import nn

import stepmark as sm

suite = sm.Suite("language_model", axes={"features": [32]}, modes=["forward"])
CLASSES = 100
BATCH, LENGTH = 64, 256


@suite.variant(baseline=True)
def model(c):
    layers = nn.Sequential(nn.Embedding(CLASSES, c.features), nn.Linear(c.features, CLASSES))
    return sm.Step(layers, inputs=sm.randint(CLASSES, BATCH, LENGTH))
