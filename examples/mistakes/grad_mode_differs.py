"""The baseline records a graph for a backward pass that never comes; the variant does not."""

import torch
from torch import nn

import stepmark as sm

FINDING = "grad-mode-differs"
VARIANT = "mine"

suite = sm.Suite("norm_inference", axes={"features": [256]}, modes=["ops"])


@suite.variant(baseline=True)
def torchs(c):
    norm, x = nn.LayerNorm(c.features), torch.randn(64, c.features)
    return sm.Ops({"forward": lambda: norm(x)})


@suite.variant
def mine(c):
    weight, x = torch.ones(c.features), torch.randn(64, c.features)

    def forward():
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + 1e-5) * weight

    return sm.Ops({"forward": forward})
