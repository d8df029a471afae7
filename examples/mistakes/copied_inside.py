"""The batch lies in the host's memory and is copied to the device inside the clock."""

import torch
from torch import nn

import stepmark as sm

FINDING = "inputs-made-inside"
VARIANT = "model"
DEVICE = "cuda"

suite = sm.Suite("host_batches", axes={"features": [1024]}, modes=["ops"])


@suite.variant(baseline=True)
def model(c):
    layer = nn.Linear(c.features, c.features, device=c.device)
    batch = torch.randn(1024, c.features)

    @torch.no_grad()
    def forward():
        return layer(batch.to(c.device))

    return sm.Ops({"forward": forward})
