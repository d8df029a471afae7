"""The optimizer steps where gradients exist; there are none, so it never does.

In print: a benchmark named "complete iteration" guarded AdamW with "if both gradients exist". Its fused
forward gave none, and the published training step was a forward pass and a loss.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "optimizer-does-nothing"
VARIANT = "complete_iteration"

suite = sm.Suite("full_training_step", axes={"features": [128]}, modes=["ops"])
RANK = 8


def fused_lora(x, a, b):
    """Stands for a kernel that autograd knows nothing about."""
    with torch.no_grad():
        return (x @ a) @ b


@suite.variant(baseline=True)
def complete_iteration(c):
    a = nn.Parameter(torch.randn(c.features, RANK))
    b = nn.Parameter(torch.randn(RANK, c.features))
    optimizer = torch.optim.AdamW([a, b], lr=1e-4)
    x = torch.randn(64, c.features)
    labels = torch.randint(c.features, (64,))

    def forward():
        return nn.functional.cross_entropy(fused_lora(x, a, b), labels)

    def optimizer_step():
        loss = forward()
        if loss.requires_grad:
            loss.backward()
        if a.grad is not None and b.grad is not None:
            optimizer.step()
            optimizer.zero_grad()

    return sm.Ops({"forward": forward, "forward, backward and optimizer": optimizer_step})
