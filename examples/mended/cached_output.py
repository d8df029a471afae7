"""What depends on the length alone is kept; what depends on the input is computed from it each time."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("positions", axes={"tokens": [256]}, modes=["forward"])
WIDTH = 64


class Rotation(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequencies = nn.Buffer(10_000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH))

    def forward(self, positions):
        angles = positions[:, None] * self.frequencies
        return torch.cat([angles.cos(), angles.sin()], dim=-1)


class CachedRotation(Rotation):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, positions):
        if self.last is None or self.last.shape[0] != positions.shape[0]:
            self.last = positions.new_empty(positions.shape[0], WIDTH)
        angles = positions[:, None] * self.frequencies
        torch.cos(angles, out=self.last[:, : WIDTH // 2])
        torch.sin(angles, out=self.last[:, WIDTH // 2 :])
        return self.last


@suite.variant(baseline=True)
def computed(c):
    return sm.Step(Rotation(), inputs=sm.rand(c.tokens))


@suite.variant
def cached(c):
    return sm.Step(CachedRotation(), inputs=sm.rand(c.tokens))
