"""A layer is factorised from a dense one, and a dictionary keeps the dense one alive."""

import torch
from torch import nn

import stepmark as sm

FINDING = "leftover-memory"
VARIANT = "factorised"

suite = sm.Suite("factors", axes={"features": [768]}, modes=["forward"])
LAYERS = {}


def factorised_from(dense, rank):
    u, s, v = torch.svd_lowrank(dense.weight.detach(), q=rank, niter=0)
    thin = nn.Sequential(nn.Linear(dense.in_features, rank, bias=False), nn.Linear(rank, dense.out_features))
    thin[0].weight.data.copy_(v.T)
    thin[1].weight.data.copy_(u * s)
    return thin


@suite.variant(baseline=True)
def factorised(c):
    LAYERS[c.features] = dense = nn.Linear(c.features, c.features)
    return sm.Step(factorised_from(dense, rank=16), inputs=sm.randn(16, c.features))
