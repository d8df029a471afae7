"""The hand-written step clears its gradients before each backward pass."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("hand_written_step", axes={"features": [128]}, modes=["ops"])


@suite.variant(baseline=True)
def training(c):
    model = nn.Sequential(nn.Linear(c.features, c.features), nn.GELU(), nn.Linear(c.features, c.features))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(32, c.features), torch.randn(32, c.features)

    def step():
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return sm.Ops({"step": step})
