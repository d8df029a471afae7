"""The scale of a row is never 0."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("padding", axes={"features": [128]}, modes=["forward"])
TOKENS, PADDING = 64, 8


class FakeInt8(nn.Linear):
    def forward(self, x):
        scale = x.abs().amax(dim=1, keepdim=True).clamp(min=1e-6) / 127
        return super().forward((x / scale).round() * scale)


def padded(features):
    x = torch.randn(TOKENS, features)
    x[-PADDING:] = 0.0
    return x


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=padded(c.features))


@suite.variant
def fake_int8(c):
    return sm.Step(FakeInt8(c.features, c.features), inputs=padded(c.features))
