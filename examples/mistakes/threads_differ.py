"""One variant asks for more threads than the run and its neighbours have."""

import torch
from torch import nn

import stepmark as sm

FINDING = "threads-differ"
VARIANT = "parallel"

suite = sm.Suite("parallel_experts", axes={"features": [128]}, modes=["forward"])


class Experts(nn.Module):
    def __init__(self, features, num_experts):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(features, features) for _ in range(num_experts))

    def forward(self, x):
        return torch.stack([expert(x) for expert in self.experts]).mean(dim=0)


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))


@suite.variant
def parallel(c):
    torch.set_num_threads(2)
    return sm.Step(Experts(c.features, num_experts=2), inputs=sm.randn(64, c.features))
