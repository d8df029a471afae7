"""The batch is on the device before the clock starts."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("host_batches", axes={"features": [1024]}, modes=["ops"])


@suite.variant(baseline=True)
def model(c):
    layer = nn.Linear(c.features, c.features, device=c.device)
    batch = torch.randn(1024, c.features, device=c.device)

    @torch.no_grad()
    def forward():
        return layer(batch)

    return sm.Ops({"forward": forward})
