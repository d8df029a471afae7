"""Codes and scales to multiply, and what they come to."""

from __future__ import annotations

import torch
from torch import Tensor


def codes(*shape: int, seed: int, device: str) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-127, 128, shape, generator=generator).to(torch.int8).to(device)


def numbers(*shape: int, seed: int, device: str) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).add(0.1).to(device)


def exact(x8: Tensor, w8: Tensor) -> Tensor:
    return (x8.cpu().long() @ w8.cpu().long().t()).to(x8.device)
