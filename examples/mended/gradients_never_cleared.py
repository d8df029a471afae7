"""The same block as a Step: gradients are cleared before every iteration, outside the clock."""

from torch import nn

import stepmark as sm

suite = sm.Suite("assignment", axes={"features": [64]})
CLASSES = 100


@suite.variant(baseline=True)
def block(c):
    layer = nn.TransformerEncoderLayer(c.features, 4, 4 * c.features, dropout=0.0, batch_first=True)
    return sm.Step(
        nn.Sequential(layer, nn.Linear(c.features, CLASSES), nn.Flatten(0, 1)),
        inputs=sm.randn(4, 16, c.features),
        target=sm.randint(CLASSES, 4 * 16),
        loss=nn.functional.cross_entropy,
    )
