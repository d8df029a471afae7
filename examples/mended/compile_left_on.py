"""The case itself says what is compiled: here nothing is, and a variant with compile= is called so."""

from torch import nn

import stepmark as sm

suite = sm.Suite("attention_layer", axes={"width": [32]}, modes=["forward"])


def attend(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1) @ v


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x):
        return attend(*self.project(x).chunk(3, dim=-1))


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Attention(c.width), inputs=sm.randn(4, 16, c.width))


@suite.variant
def compiled(c):
    return sm.Step(Attention(c.width), inputs=sm.randn(4, 16, c.width), compile={"backend": "aot_eager"})
