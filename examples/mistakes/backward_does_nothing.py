"""The backward operation names the method and never calls it: two brackets are missing."""

import torch
from torch import nn

import stepmark as sm

FINDING = "backward-does-nothing"
VARIANT = "normed"

suite = sm.Suite("norm_parts", axes={"features": [256]}, modes=["ops"])


def parts(norm, features):
    x = torch.randn(64, features, requires_grad=True)
    loss = norm(x).square().mean()
    return sm.Ops({"backward": lambda: loss.backward, "forward": lambda: norm(x)})


@suite.variant(baseline=True)
def normed(c):
    return parts(nn.LayerNorm(c.features), c.features)


@suite.variant
def root_mean_square(c):
    return parts(nn.RMSNorm(c.features), c.features)
