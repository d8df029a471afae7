"""Norms: a chain of operations against torch's own kernel, held against a reference in float64."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("norms", axes={"features": [256]}, modes=["train", "forward"])
TOKENS = 64
EPSILON = 1e-5


class ChainedRMSNorm(nn.RMSNorm):
    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + EPSILON) * self.weight


def step(norm, features):
    return sm.Step(
        norm,
        inputs=sm.randn(TOKENS, features, requires_grad=True),
        reference=lambda module, x: nn.functional.rms_norm(x, [features], module.weight, EPSILON),
        expects=sm.Expect(parameters=features, tokens=TOKENS, deterministic=True),
    )


@suite.variant(baseline=True)
def kernel(c):
    """One kernel of torch."""
    return step(nn.RMSNorm(c.features, eps=EPSILON), c.features)


@suite.variant
def chain(c):
    """Five operations one after the other."""
    return step(ChainedRMSNorm(c.features, eps=EPSILON), c.features)
