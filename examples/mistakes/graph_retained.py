"""Backward is timed alone by going through one graph again and again.

What the forward pass would have left in the caches is gone, the graph's tensors are never freed, and a
compiled backward cannot give its buffers away.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "graph-retained"
VARIANT = "gelu"

suite = sm.Suite("backward_alone", axes={"features": [256]}, modes=["ops"])


def backward_of(activation, features):
    x = torch.randn(64, features, requires_grad=True)
    y = activation(x)
    gradient = torch.randn_like(y)

    def backward():
        x.grad = None
        y.backward(gradient, retain_graph=True)

    return sm.Ops({"backward": backward})


@suite.variant(baseline=True)
def gelu(c):
    return backward_of(nn.GELU(), c.features)


@suite.variant
def silu(c):
    return backward_of(nn.SiLU(), c.features)
