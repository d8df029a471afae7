"""Attention is decorated with torch.compile deep inside the model; the table calls the model eager.

In print: the author of an assignment noticed after its tables were made: "Found that I had used torch.compile
for everything so far". What they show as the effect of warm-up is almost only the time of compilation.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "compiled-unannounced"
VARIANT = "eager"

suite = sm.Suite("attention_layer", axes={"width": [32]}, modes=["forward"])


@torch.compile(backend="aot_eager")
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
