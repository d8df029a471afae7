"""The chosen expert's output is weighted with the router's probability: the router learns too."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("routing", axes={"features": [64]})
EXPERTS = 4


class HardExperts(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.router = nn.Linear(features, EXPERTS)
        self.experts = nn.Parameter(torch.randn(EXPERTS, features, features) / features**0.5)

    def forward(self, x):
        probability, chosen = self.router(x).softmax(dim=-1).max(dim=-1)
        routed = torch.bmm(x.unsqueeze(1), self.experts[chosen]).squeeze(1)
        return routed * probability.unsqueeze(1)


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))


@suite.variant
def hard(c):
    return sm.Step(HardExperts(c.features), inputs=sm.randn(32, c.features))
