"""Two variants of which a device holds one at a time, and one that it does not hold at all."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("crowded", modes=["forward"])


class Keeps(nn.Linear):
    """Holds a share of the device's memory."""

    def __init__(self, device, share):
        super().__init__(256, 256, device=device)
        _, total = torch.cuda.mem_get_info(device)
        self.kept = torch.empty(int(share * total), dtype=torch.uint8, device=device)


@suite.variant(baseline=True)
def one(c):
    return sm.Step(Keeps(c.device, 0.6), inputs=sm.randn(64, 256))


@suite.variant
def other(c):
    return sm.Step(Keeps(c.device, 0.6), inputs=sm.randn(64, 256))


@suite.variant
def too_large(c):
    return sm.Step(Keeps(c.device, 1.5), inputs=sm.randn(64, 256))
