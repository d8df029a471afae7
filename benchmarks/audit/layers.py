"""Layers as people write them: all correct, each with a habit that a careless rule takes for a mistake."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

FEATURES = 32


def small_net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(FEATURES, 2 * FEATURES), nn.GELU(), nn.Linear(2 * FEATURES, FEATURES))


class Swish(torch.autograd.Function):
    """A backward pass written by hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grads[0] * (s + x * s * (1 - s))


class ForeignProduct(torch.autograd.Function):
    """A kernel that torch's dispatcher never sees: NumPy writes into memory that torch allocated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Any:
        ctx.save_for_backward(x, weight)
        return product(x.flatten(0, -2), weight.T).view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        rows, grad = x.flatten(0, -2), grads[0].flatten(0, -2)
        return product(grad, weight).view(x.shape), product(grad.T, rows)


def product(left: Tensor, right: Tensor) -> Tensor:
    result = torch.empty(left.shape[0], right.shape[1], dtype=left.dtype)
    result.numpy()[...] = left.detach().numpy() @ right.detach().numpy()
    return result


class HandWritten(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return Swish.apply(x)  # type: ignore[no-any-return, no-untyped-call]


class Foreign(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        if input.dtype not in (torch.float32, torch.float64):
            return super().forward(input)
        return ForeignProduct.apply(input, self.weight)  # type: ignore[no-any-return, no-untyped-call]


class LowRank(nn.Module):
    """LoRA as it begins: the second factor is zero, and so is the gradient of the first."""

    def __init__(self, features: int, rank: int = 4) -> None:
        super().__init__()
        self.base = nn.Linear(features, features).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(features, rank))
        self.b = nn.Parameter(torch.zeros(rank, features))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.base(x) + (x @ self.a) @ self.b
        return out


class Tied(nn.Module):
    """One weight, used on the way in and on the way out."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner = nn.Linear(features, features)
        self.outer = nn.Linear(features, features, bias=False)
        self.outer.weight = self.inner.weight

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.outer(torch.relu(self.inner(x)))
        return out


class Checkpointed(nn.Module):
    """The forward pass runs again inside the backward pass."""

    def __init__(self, features: int, *, reentrant: bool = False) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, features), nn.GELU(), nn.Linear(features, features))
        self.reentrant = reentrant

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = checkpoint(self.layers, x, use_reentrant=self.reentrant)
        return out


class Experts(nn.Module):
    """Some experts are chosen by no token: they get no gradient in this step."""

    def __init__(self, features: int, num_experts: int = 8) -> None:
        super().__init__()
        self.router = nn.Linear(features, num_experts)
        self.experts = nn.ModuleList(nn.Linear(features, features) for _ in range(num_experts))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.router(x).softmax(dim=-1).max(dim=-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mask = chosen == number
            if mask.any():
                out = out.index_put((mask,), expert(x[mask]).to(out.dtype))
        weighted: Tensor = out * weights.unsqueeze(-1)
        return weighted


class Residual(nn.Module):
    """A branch that begins switched off."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.branch = nn.Linear(features, features)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.gate * self.branch(x)
        return out


class Counting(nn.Module):
    """Keeps a running mean in a buffer, as statistics do."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.mean = nn.Buffer(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        with torch.no_grad():
            self.mean.lerp_(y.flatten(0, -2).mean(dim=0).to(self.mean.dtype), 0.1)
        return y


class Attention(nn.Module):
    def __init__(self, features: int, *, causal: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(features, 3 * features, bias=False)
        self.out = nn.Linear(features, features)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x).unsqueeze(-3).chunk(3, dim=-1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        out: Tensor = self.out(mixed.squeeze(-3))
        return out


class Fourier(nn.Module):
    """Mixes tokens in the frequencies; complex numbers inside."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.filter = nn.Parameter(torch.randn(features // 2 + 1, 2))

    def forward(self, x: Tensor) -> Tensor:
        kind = torch.float64 if x.dtype == torch.float64 else torch.float32
        spectrum = torch.fft.rfft(x.to(kind), dim=-1) * torch.view_as_complex(self.filter.to(kind))
        mixed: Tensor = torch.fft.irfft(spectrum, n=x.shape[-1], dim=-1)
        return mixed.to(x.dtype)


class MeanOfRows(nn.Module):
    """An in-place addition inside, on memory of its own."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros_like(x)
        total += x
        total *= self.scale
        return total


class Transposed(nn.Module):
    """Batch norm over the features of a sequence."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(x.flatten(0, -2)).view_as(x)
        return out
