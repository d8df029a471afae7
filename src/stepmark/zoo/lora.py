"""LoRA: a frozen linear layer with a trained low-rank adapter beside it, and the adapter alone.

Shapes    T tokens (all leading dimensions together) · I in_features · O out_features · R rank
          x (..., I)   W (O, I)   A (I, R)   B (R, O)   y (..., O);  formulas and source in lora_reference.py
Start     A ~ N(0, 1/sqrt(R)); B = 0, so that the layer starts as its base. zero_b=False draws B like A: for
          measuring and testing, where a B of zeros would make every gradient of A zero as well.

Order of computation, by multiply-adds (each product has two products in its backward pass)
-------------------------------------------------------------------------------------------
                              factored (x A) B     product x (A B), with a base x (W + s A B)
adapter alone                 T R (I + O)          R I O + T I O            training: both three times
with a base, inference        T R (I + O)          R I O                    x W is paid in either order
with a base, training         3 T R (I + O)        3 R I O + T I O          T I O: the gradient of W + s A B
The fewer multiply-adds win, the factored order where they are equal. So the product is for many tokens: with
a base, inference needs T > I O / (I + O), training a rank above I O / (3 (I + O)) as well. It rounds the sum
W + s A B to W's dtype, which in 16 bits may swallow a small adapter: half precision is always factored. So is
a layer with dropout, whose adapter sees another input than its base.

Passes over memory
------------------
The scaled product is added onto the base's output where it lies, inside the matrix product: no pass for the
scaling, none for the sum, no second tensor of T O entries. An autograd.Function that also adds the two parts
of dx where they lie was no faster on a CPU: 0.96 to 1.06 of the time, forward and backward on one thread, at
eight shapes from 64 x 512 to 512 x 2048, and 1.19 at 1 x 64. On a GPU, where launches and Python count, it is
what runs: kernels/lora_function.py, unless dropout, float64 or a rank above 64 asks for the plain products.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from stepmark.zoo.kernels.backend import Backend, check_backend, resolve
from stepmark.zoo.kernels.lora_function import has_kernels, lora_linear
from stepmark.zoo.kernels.lora_sizes import Adapted

TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}
"""Largest error of an entry of the output or of a gradient, against float64 on the same values, relative to
the largest entry of what is compared. merge() and unmerge() give the weight back within the same."""

_has_autocast = torch._C._is_any_autocast_enabled
"""Of any device: less to ask than that of one, where a small layer's time is the host's."""

Order = Literal["factored", "product"]
_EXACT_ENOUGH = (torch.float32, torch.float64)


def cheaper_order(
    tokens: int, in_features: int, out_features: int, rank: int, *, base: bool, training: bool
) -> Order:
    """By the multiply-adds above."""
    dense, thin = in_features * out_features, in_features + out_features
    if not base:
        factored, product = tokens * rank * thin, (rank + tokens) * dense
    elif training:
        factored, product = 3 * tokens * rank * thin, (3 * rank + tokens) * dense
    else:
        factored, product = tokens * rank * thin, rank * dense
    return "product" if product < factored else "factored"


class LoRAAdapter(nn.Module):
    """y = s (x A) B with s = alpha / rank; dropout, in training, on x."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        rank: int = 8,
        alpha: float = 16.0,
        dropout: float = 0.0,
        *,
        zero_b: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        _check_settings(in_features, out_features, rank, alpha, dropout)
        check_backend(backend)
        self.in_features, self.out_features, self.rank = in_features, out_features, rank
        self.alpha, self.dropout, self.zero_b = alpha, dropout, zero_b
        self.scale, self.backend = alpha / rank, backend
        self.A = nn.Parameter(torch.empty(in_features, rank, device=device, dtype=dtype))
        self.B = nn.Parameter(torch.empty(rank, out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw A and B anew."""
        deviation = self.rank**-0.5
        nn.init.normal_(self.A, std=deviation)
        if self.zero_b:
            nn.init.zeros_(self.B)
        else:
            nn.init.normal_(self.B, std=deviation)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.A, self.B
        _check_input(x, a)
        y = self.by_kernels(x, Adapted(None, None, a, b, self.scale))
        if y is not None:
            return y
        rows = self.dropped(x.reshape(-1, self.in_features))
        # Scaled where it is thin: I R or T R entries instead of T O.
        if self.order(rows, base=False) == "product":
            y = rows.mm((a * self.scale).mm(b))
        else:
            y = (rows.mm(a) * self.scale).mm(b)
        return y.view(*x.shape[:-1], self.out_features)

    def dropped(self, rows: Tensor) -> Tensor:
        """The adapter's own input."""
        return functional.dropout(rows, self.dropout) if self.dropout and self.training else rows

    def order(self, rows: Tensor, *, base: bool) -> Order:
        """Factored, unless the product is cheaper, as exact, and has one input."""
        exact = self.A.dtype in _EXACT_ENOUGH and not torch.is_autocast_enabled(rows.device.type)
        if not exact or (base and self.dropout and self.training):
            return "factored"
        tokens = rows.numel() // self.in_features
        sizes = (tokens, self.in_features, self.out_features, self.rank)
        return cheaper_order(*sizes, base=base, training=torch.is_grad_enabled())

    def by_kernels(self, x: Tensor, layer: Adapted) -> Tensor | None:
        """The output where the backend has kernels for it: not with dropout, nor in the other order. To a
        compiler they are opaque, so it gets them when they are asked for by name. Under autocast all is cast
        first, as autocast does to products: not to those of float64."""
        asked = self.backend == "triton"
        if not (x.is_cuda or asked) or (self.dropout and self.training):
            return None
        traced = torch.compiler.is_compiling()
        if not (asked if traced else resolve(self.backend, x)):
            return None
        if (traced or _has_autocast()) and _is_cast(x) and torch.float64 not in (x.dtype, layer.a.dtype):
            dtype = torch.get_autocast_dtype(x.device.type)
            x, layer = x.to(dtype), layer.to(dtype)
        elif x.dtype in _EXACT_ENOUGH and self.order(x, base=layer.weight is not None) == "product":
            return None
        return lora_linear(x, layer, only_kernels=asked) if has_kernels(x, layer) else None

    def delta(self) -> Tensor:
        """What the adapter adds to a weight of shape (O, I), in float32 at least."""
        wide = torch.promote_types(self.A.dtype, torch.float32)
        return (self.A.to(wide) @ self.B.to(wide)).T * self.scale

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}, rank={self.rank}"
        return f"{sizes}, alpha={self.alpha}, dropout={self.dropout}"


class LoRALinear(nn.Module):
    """y = x W^T + c + s (x A) B: a given nn.Linear, or one made here, frozen, with an adapter beside it.

    A given base is taken as it is, with its bias, device and dtype, and frozen in place.
    """

    def __init__(
        self,
        base: nn.Linear | None = None,
        *,
        in_features: int | None = None,
        out_features: int | None = None,
        rank: int = 8,
        alpha: float = 16.0,
        dropout: float = 0.0,
        zero_b: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        if base is None:
            if in_features is None or out_features is None:
                raise ValueError("LoRALinear needs a base, or in_features and out_features")
            base = nn.Linear(in_features, out_features, bias=bias, device=device, dtype=dtype)
        else:
            _check_base(base, in_features, out_features, device, dtype)
        self.base = base.requires_grad_(False)
        self.adapter = LoRAAdapter(
            base.in_features,
            base.out_features,
            rank=rank,
            alpha=alpha,
            dropout=dropout,
            zero_b=zero_b,
            device=base.weight.device,
            dtype=base.weight.dtype,
            backend=backend,
        )
        self.merged = False
        """Whether the base's weight holds the adapter. Then the layer costs what its base does, and A and B
        get no gradients."""

    def forward(self, x: Tensor) -> Tensor:
        # Looked up here, because Module.__getattr__ takes most of a microsecond, six times.
        modules: Any = self._modules
        base: nn.Linear = modules["base"]
        adapter: LoRAAdapter = modules["adapter"]
        weight, bias = _own(base, "weight"), _own(base, "bias")
        a, b = _own(adapter, "A"), _own(adapter, "B")
        _check_input(x, a)
        if self.merged:
            return functional.linear(x, weight, bias)
        y = adapter.by_kernels(x, Adapted(weight, bias, a, b, adapter.scale))
        if y is not None:
            return y
        rows = x.reshape(-1, base.in_features)
        if adapter.order(rows, base=True) == "product":
            y = functional.linear(rows, torch.addmm(weight, b.T, a.T, alpha=adapter.scale), bias)
        else:
            y = functional.linear(rows, weight, bias)
            # Under autocast y is in 16 bits, and operations in place do not cast: B is cast here.
            cast = b if b.dtype == y.dtype else b.to(y.dtype)
            y.addmm_(adapter.dropped(rows).mm(a), cast, alpha=adapter.scale)
        return y.view(*x.shape[:-1], base.out_features)

    @torch.no_grad()
    def merge(self) -> None:
        """Add the adapter to the base's weight."""
        if self.merged:
            raise ValueError("the adapter is merged already: it would count twice")
        self._shift_weight(self.adapter.delta())
        self.merged = True

    @torch.no_grad()
    def unmerge(self) -> None:
        """Take it out again; A and B must be what they were when it was merged."""
        if not self.merged:
            raise ValueError("the adapter is not merged: there is nothing to take out")
        self._shift_weight(-self.adapter.delta())
        self.merged = False

    def _shift_weight(self, delta: Tensor) -> None:
        """Rounded once."""
        self.base.weight.copy_(self.base.weight.to(delta.dtype) + delta)

    def get_extra_state(self) -> Tensor:
        """A state_dict of a merged layer says so; a tensor, for formats that hold tensors only."""
        return torch.tensor(self.merged)

    def set_extra_state(self, state: Tensor) -> None:
        self.merged = bool(state)


def _check_settings(in_features: int, out_features: int, rank: int, alpha: float, dropout: float) -> None:
    for name, size in {"in_features": in_features, "out_features": out_features, "rank": rank}.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    if not isfinite(alpha):
        raise ValueError(f"alpha must be a finite number, got {alpha}")
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout must be in [0, 1), got {dropout}")


def _check_base(
    base: nn.Linear,
    in_features: int | None,
    out_features: int | None,
    device: torch.device | str | None,
    dtype: torch.dtype | None,
) -> None:
    sizes = (base.in_features, base.out_features)
    given = (in_features or base.in_features, out_features or base.out_features)
    if given != sizes:
        raise ValueError(f"the base maps {sizes[0]} features to {sizes[1]}, not {given[0]} to {given[1]}")
    if device is not None or dtype is not None:
        raise ValueError("a given base brings its own device and dtype: move it before, or the layer after")


def _own(module: nn.Module, name: str) -> Any:
    """A parameter; one that is computed, as by a parametrization, is no parameter of its module."""
    own = module._parameters
    return own[name] if name in own else getattr(module, name)


def _is_cast(x: Tensor) -> bool:
    return torch.is_autocast_enabled(x.device.type)


def _check_input(x: Tensor, a: Tensor) -> None:
    shape = x.shape
    if not shape or shape[-1] != a.shape[0]:
        raise ValueError(f"expected (..., {a.shape[0]}), got {tuple(shape)}")
    if x.dtype is not a.dtype and not _is_cast(x):
        raise ValueError(f"expected {a.dtype}, as the layer has, got {x.dtype}")
