"""The batch is drawn inside the forward pass, after the clock has started.

In print: an assignment's forward clock held two calls of randint on the device besides the model.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "inputs-made-inside"
VARIANT = "model"

suite = sm.Suite("language_model", axes={"features": [32]}, modes=["ops"])
CLASSES = 100
BATCH, LENGTH = 64, 256


@suite.variant(baseline=True)
def model(c):
    layers = nn.Sequential(nn.Embedding(CLASSES, c.features), nn.Linear(c.features, CLASSES))

    def forward():
        x = torch.randint(CLASSES, (BATCH, LENGTH))
        with torch.no_grad():
            return layers(x)

    return sm.Ops({"forward": forward})
