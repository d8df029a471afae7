"""The loss is computed inside the backward clock.

In print: one benchmark called cross-entropy over 32,000 classes inside its backward clock; in another the
loss was computed between two clocks, and its kernels were waited for in the second.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "phase-bleed"
VARIANT = "model"

suite = sm.Suite("language_model_head", axes={"features": [64]}, modes=["ops"])
TOKENS = 128
CLASSES = 1000


@suite.variant(baseline=True)
def model(c):
    head = nn.Linear(c.features, CLASSES)
    x, y = torch.randn(TOKENS, c.features), torch.randint(CLASSES, (TOKENS,))
    features = nn.Linear(c.features, c.features)
    logits = head(features(x))

    def backward():
        head.zero_grad()
        features.zero_grad()
        loss = nn.functional.cross_entropy(logits, y)
        loss.backward(retain_graph=True)

    return sm.Ops(
        {"forward": lambda: head(features(x)), "backward": backward},
        totals={"forward and backward": ["forward", "backward"]},
    )
