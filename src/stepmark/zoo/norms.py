"""RMSNorm and LayerNorm over the last dimension: literally and fast, with and without weights.

Shapes     x (..., N)   weight (N)   bias (N)   y (..., N), with x's dtype
Formulas   rms_norm(x)   = x / sqrt(mean(x^2) + eps) * weight
           layer_norm(x) = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight + bias
Backward   of rms_norm, with r = 1 / sqrt(mean(x^2) + eps) and g the incoming gradient, row by row:
           dx = r g weight - x r^3 sum(g weight x) / N        dweight = sum over rows of r g x
Precision  Half inputs are computed in float32 and rounded once, at the end. Where the weight has another
           dtype than x, as parameters kept in float32 under autocast do, it is the weight's that counts.
Sources    Zhang & Sennrich, "Root Mean Square Layer Normalization", arXiv 1910.07467; Ba, Kiros & Hinton,
           "Layer Normalization", arXiv 1607.06450.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from stepmark.zoo.kernels.backend import Backend, check_backend
from stepmark.zoo.kernels.norm import WIDEST, Parameters
from stepmark.zoo.kernels.norm_autograd import norm_rows
from stepmark.zoo.kernels.row_choice import recalled, rows_for_torch, uses_triton
from stepmark.zoo.kernels.undisturbed import without_autocast

TOLERANCES = {torch.float64: 1e-13, torch.float32: 2e-6, torch.bfloat16: 3e-2, torch.float16: 4e-3}
"""Largest error of an entry of the output or of a gradient, against float64 on the same inputs, relative to
the largest entry of what is compared, or of the incoming gradient if that is larger. Half results stay below
a seventh of it (0.0037 and 0.0005), but for gradients of layer_norm on the CPU, of 0.013 and 0.0017: torch's
kernel keeps means and deviations of half inputs in half."""

_HALF = (torch.bfloat16, torch.float16)


def rms_norm_reference(x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    """Square, mean, root, quotient, product."""
    _check(x, weight=weight)
    wide = _widened(x, weight)
    normed = wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt()
    return _weighted(normed, weight).to(x.dtype)


def layer_norm_reference(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5
) -> Tensor:
    """Centre first, then the mean square of what is left: no difference of large squares."""
    _check(x, weight=weight, bias=bias)
    wide = _widened(x, weight, bias)
    centred = wide - wide.mean(-1, keepdim=True)
    normed = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    shifted = _weighted(normed, weight) if bias is None else _weighted(normed, weight) + bias
    return shifted.to(x.dtype)


def rms_norm(
    x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-5, backend: Backend = "auto"
) -> Tensor:
    """On CUDA a Triton kernel or torch's, whichever is faster. On the CPU torch has none: it runs a chain and
    autograd a longer one backward. Written out, forward and backward take 0.35 of its time at 2048 x 768
    (7.3 ms instead of 20.8) and 0.88 at 64 x 512 (0.36 ms instead of 0.40; float32, one thread)."""
    if (row := rows_for_torch("rms_norm", backend, x, weight)) is not None:
        return torch.rms_norm(x, row, weight, eps)
    if _in_triton(backend, x, weight, None, eps, centred=False):
        return norm_rows(x, Parameters(weight, None), eps=eps, centred=False)
    if not x.is_cpu or torch.compiler.is_compiling() or not _pays(x, weight):
        return _torch_rms_norm(x, weight, None, eps=eps)
    rows = _widened(x, weight).reshape(-1, x.shape[-1])
    wide = None if weight is None else weight.to(rows.dtype)
    normed: Tensor = _RMSNormRows.apply(rows, wide, eps)  # type: ignore[no-untyped-call]
    return normed.view(x.shape).to(x.dtype)


def _pays(x: Tensor, weight: Tensor | None) -> bool:
    """Forward alone, writing it out pays from about 2^18 entries on: it takes 1.3 times as long as torch's
    chain at 64 x 1024, and 0.63 times at 512 x 768."""
    trained = x.requires_grad or (weight is not None and weight.requires_grad)
    return x.numel() >= 1 << 18 or (trained and torch.is_grad_enabled())


def layer_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    eps: float = 1e-5,
    backend: Backend = "auto",
) -> Tensor:
    """Torch's, one kernel on the CPU and on CUDA; there a Triton kernel where it is faster."""
    if (row := rows_for_torch("layer_norm", backend, x, weight, bias)) is not None:
        return torch.layer_norm(x, row, weight, bias, eps)
    if _in_triton(backend, x, weight, bias, eps, centred=True):
        return norm_rows(x, Parameters(weight, bias), eps=eps, centred=True)
    return _torch_layer_norm(x, weight, bias, eps=eps)


def _torch_rms_norm(x: Tensor, weight: Tensor | None, _: None, *, eps: float) -> Tensor:
    """Without the functional of the same name, whose Python is a part of what a small call takes."""
    if weight is None or weight.dtype == x.dtype:
        return _in_its_dtype(torch.rms_norm(x, x.shape[-1:], weight, eps), x)
    return torch.rms_norm(_matched(x, weight), x.shape[-1:], weight, eps).to(x.dtype)


def _torch_layer_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float) -> Tensor:
    if (weight is None or weight.dtype == x.dtype) and (bias is None or bias.dtype == x.dtype):
        return _in_its_dtype(torch.layer_norm(x, x.shape[-1:], weight, bias, eps), x)
    matched = _matched(x, weight, bias)
    weight, bias = (None if one is None else one.to(matched.dtype) for one in (weight, bias))
    return torch.layer_norm(matched, x.shape[-1:], weight, bias, eps).to(x.dtype)


def _in_its_dtype(normed: Tensor, x: Tensor) -> Tensor:
    """In x's dtype: under autocast torch's norms give float32 on CUDA."""
    return normed if normed.dtype is x.dtype else normed.to(x.dtype)


def _in_triton(
    backend: Backend, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, centred: bool
) -> bool:
    """Whether the kernel computes; checks what has not been checked before."""
    name = "layer_norm" if centred else "rms_norm"
    if x.is_cuda and not torch.compiler.is_compiling():
        decided = recalled(name, backend, x, weight, bias)
        if decided is not None:
            return decided
    _check(x, weight=weight, bias=bias)
    check_backend(backend)
    if torch.compiler.is_compiling():  # a compiler's own kernel takes in what stands beside the norm
        return backend == "triton"
    if not x.is_cuda and backend != "triton":
        return False

    def ways() -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
        def kernel(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
            return norm_rows(x, Parameters(weight, bias), eps=eps, centred=centred)

        return partial(_torch_layer_norm if centred else _torch_rms_norm, eps=eps), kernel

    return uses_triton(backend, name, (x, weight, bias), widest=WIDEST, ways=ways)


class _RMSNormRows(torch.autograd.Function):
    """Rows in float32 or float64. One temporary of their size, g x, serves both sums and then holds dx."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        # The norm reads the rows once and writes no squares.
        norms: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        reciprocal = norms.square_().div_(rows.shape[-1]).add_(eps).rsqrt_()
        ctx.save_for_backward(rows, weight, reciprocal)
        ctx.eps = eps
        normed = rows * reciprocal
        return normed if weight is None else normed.mul_(weight)

    @staticmethod
    @without_autocast
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor | None, None]:
        rows, weight, reciprocal = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: whoever asked may differentiate again
            return *_gradients(g, rows, weight, ctx.eps), None
        held = g * rows
        sums = held.sum(-1) if weight is None else held.mv(weight)
        d_weight = None if weight is None else held.T.mv(reciprocal.squeeze(-1))
        if weight is None:
            torch.mul(g, reciprocal, out=held)
        else:
            torch.mul(g, weight, out=held).mul_(reciprocal)
        held.addcmul_(rows, sums.unsqueeze(-1) * reciprocal**3, value=-1.0 / rows.shape[-1])
        return held, d_weight, None


def _gradients(g: Tensor, rows: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor | None]:
    """The formulas above, in operations that can be differentiated."""
    reciprocal = (rows.square().mean(-1, keepdim=True) + eps).rsqrt()
    weighted = _weighted(g, weight)
    d_rows = reciprocal * weighted - rows * reciprocal**3 * (weighted * rows).mean(-1, keepdim=True)
    return d_rows, None if weight is None else (reciprocal * g * rows).sum(0)


class RMSNorm(nn.Module):
    """rms_norm with its weight, which starts at one; `affine=False` has none."""

    weight: nn.Parameter | None

    def __init__(
        self,
        features: int,
        eps: float = 1e-5,
        *,
        affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        check_backend(backend)
        self.features, self.eps, self.backend = _counted(features), eps, backend
        ones = nn.Parameter(torch.ones(features, device=device, dtype=dtype)) if affine else None
        self.register_parameter("weight", ones)

    def forward(self, x: Tensor) -> Tensor:
        _check_features(x, self.features)
        return rms_norm(x, self.weight, eps=self.eps, backend=self.backend)

    def extra_repr(self) -> str:
        return f"{self.features}, eps={self.eps}, affine={self.weight is not None}"


class LayerNorm(nn.Module):
    """layer_norm with its weight, which starts at one, and bias, at zero; `affine=False` has neither."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        features: int,
        eps: float = 1e-5,
        *,
        affine: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        check_backend(backend)
        self.features, self.eps, self.backend = _counted(features), eps, backend
        ones = nn.Parameter(torch.ones(features, device=device, dtype=dtype)) if affine else None
        zeros = nn.Parameter(torch.zeros(features, device=device, dtype=dtype)) if affine and bias else None
        self.register_parameter("weight", ones)
        self.register_parameter("bias", zeros)

    def forward(self, x: Tensor) -> Tensor:
        _check_features(x, self.features)
        return layer_norm(x, self.weight, self.bias, eps=self.eps, backend=self.backend)

    def extra_repr(self) -> str:
        weight, bias = self.weight is not None, self.bias is not None
        return f"{self.features}, eps={self.eps}, affine={weight}, bias={bias}"


def _weighted(normed: Tensor, weight: Tensor | None) -> Tensor:
    return normed if weight is None else normed * weight


def _widened(x: Tensor, *parameters: Tensor | None) -> Tensor:
    """In float32 at least."""
    matched = _matched(x, *parameters)
    return matched.float() if matched.dtype in _HALF else matched


def _matched(x: Tensor, *parameters: Tensor | None) -> Tensor:
    """In the parameters' dtype, where there are any; in one that holds both, where weight and bias differ."""
    dtypes = [parameter.dtype for parameter in parameters if parameter is not None]
    return x.to(torch.promote_types(dtypes[0], dtypes[-1])) if dtypes else x


def _counted(features: int) -> int:
    if features < 1:
        raise ValueError(f"a norm needs at least one feature, not {features}")
    return features


def _check_features(x: Tensor, features: int) -> None:
    if x.dim() < 1 or x.shape[-1] != features:
        raise ValueError(f"expected (..., {features}), got {tuple(x.shape)}")


def _check(x: Tensor, **parameters: Tensor | None) -> None:
    if not x.is_floating_point():
        raise ValueError(f"a norm takes floating-point numbers, not {x.dtype}")
    if x.dim() < 1 or x.shape[-1] == 0:
        raise ValueError(f"a norm needs (..., N) with N of at least 1, got {tuple(x.shape)}")
    for name, parameter in parameters.items():
        if parameter is not None and parameter.shape != x.shape[-1:]:
            given = tuple(parameter.shape)
            raise ValueError(f"{name} must have shape ({x.shape[-1]},) for x {tuple(x.shape)}, got {given}")
