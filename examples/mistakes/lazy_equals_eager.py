"""Lazy execution against eager execution: the graph is built, and then runs the very same kernels.

In print: a LoRA benchmark reported 2.12 ms for "eager" and 2.22 ms for "lazy". Both launched one kernel, the
lazy one after some bookkeeping; the intervals were wider than the difference.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "same-work-as-baseline"
VARIANT = "lazy"

suite = sm.Suite("lazy_and_eager", axes={"features": [128]}, modes=["forward"])
RANK = 8


class Adapter(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.a = nn.Parameter(torch.randn(features, RANK))
        self.b = nn.Parameter(torch.randn(RANK, features))

    def forward(self, x):
        return (x @ self.a) @ self.b


class LazyAdapter(Adapter):
    def forward(self, x):
        graph = [(torch.matmul, self.a), (torch.matmul, self.b)]
        for operation, operand in graph:
            x = operation(x, operand)
        return x


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Adapter(c.features), inputs=sm.randn(64, c.features))


@suite.variant
def lazy(c):
    return sm.Step(LazyAdapter(c.features), inputs=sm.randn(64, c.features))
