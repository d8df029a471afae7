"""The loss is a phase of its own: a Step with a loss has a clock for it."""

from torch import nn

import stepmark as sm

suite = sm.Suite("language_model_head", axes={"features": [64]})
TOKENS = 128
CLASSES = 1000


@suite.variant(baseline=True)
def model(c):
    return sm.Step(
        nn.Sequential(nn.Linear(c.features, c.features), nn.Linear(c.features, CLASSES)),
        inputs=sm.randn(TOKENS, c.features),
        target=sm.randint(CLASSES, TOKENS),
        loss=nn.functional.cross_entropy,
    )
