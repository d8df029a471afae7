"""The router chooses experts by argmax, through which no gradient flows: it is never trained.

In print: a layer of fragments measured its hard selection inside a training loop. The selector got no
gradient there, and the optimizer passed it by.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "parameter-without-gradient"
VARIANT = "hard"

suite = sm.Suite("routing", axes={"features": [64]})
EXPERTS = 4


class HardExperts(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.router = nn.Linear(features, EXPERTS)
        self.experts = nn.Parameter(torch.randn(EXPERTS, features, features) / features**0.5)

    def forward(self, x):
        chosen = self.router(x).argmax(dim=-1)
        return torch.bmm(x.unsqueeze(1), self.experts[chosen]).squeeze(1)


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))


@suite.variant
def hard(c):
    return sm.Step(HardExperts(c.features), inputs=sm.randn(32, c.features))
