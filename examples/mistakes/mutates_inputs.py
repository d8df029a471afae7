"""An in-place activation comes first: it rewrites the input, and from the second call on finds it done."""

from torch import nn

import stepmark as sm

FINDING = "mutates-inputs"
VARIANT = "in_place"

suite = sm.Suite("in_place_activation", axes={"features": [128]}, modes=["forward"])


@suite.variant(baseline=True)
def out_of_place(c):
    return sm.Step(
        nn.Sequential(nn.ReLU(), nn.Linear(c.features, c.features)), inputs=sm.randn(64, c.features)
    )


@suite.variant
def in_place(c):
    return sm.Step(
        nn.Sequential(nn.ReLU(inplace=True), nn.Linear(c.features, c.features)),
        inputs=sm.randn(64, c.features),
    )
