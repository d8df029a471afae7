"""The dense layer that was timed first is still referenced, gradients and all, while the next one is timed.

In print: a table of peak memory put a new layer at 1.39 to 1.46 times nn.Linear. The nn.Linear was still
alive and counted in; by itself the layer took 1.05.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "leftover-memory"
VARIANT = "low_rank"

suite = sm.Suite("memory", axes={"features": [512]})
FEATURES = 512

linear = nn.Linear(FEATURES, FEATURES)
linear(torch.randn(16, FEATURES)).sum().backward()
print(f"dense: {sum(parameter.numel() for parameter in linear.parameters())} parameters")  # noqa: T201


@suite.variant(baseline=True)
def low_rank(c):
    thin = nn.Sequential(nn.Linear(c.features, 64, bias=False), nn.Linear(64, c.features))
    return sm.Step(thin, inputs=sm.randn(16, c.features), optimizer=torch.optim.Adam)
