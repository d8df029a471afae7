"""Optimizers and losses of people's own: none of them torch's, all of them right."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class Clipped:
    """An optimizer that clips first; no torch.optim.Optimizer itself."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.parameters = list(parameters)
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-2)

    def step(self) -> None:
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()


class WarmedUp:
    """An optimizer with a schedule of its learning rate."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda n: min(1.0, (n + 1) / 100))

    def step(self) -> None:
        self.optimizer.step()
        self.schedule.step()


class Tempered(nn.Module):
    """A loss with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        return (self.temperature * (output - target)).square().mean()
