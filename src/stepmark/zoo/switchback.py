"""SwitchBackLinear: forward and input gradient in int8, the weight gradient in the layer's own precision.

Shapes
------
b  rows (all leading dimensions)     n  input features     o  output features
x (b, n) · weight W (o, n) · bias (o) · g (b, o), the gradient of the output · codes with an 8: int8

Formula (the definition stands in switchback_reference.py)
----------------------------------------------------------
y  = scales (x8 W8^T) + bias      x by rows; W by rows ("vector") or as a whole ("global")
dx = scales (g8 W8)               g by rows; W by columns ("vector") or as a whole ("global")
dW = g^T x in the input's dtype   its sums run over b, where int8 noise costs accuracy most (arXiv 2304.13013)
db = the sum of g's rows

| saved for backward      | x                   | W                        |
|-------------------------|---------------------|--------------------------|
| vector, global          | x                   | W, quantised again       |
| global, memory-efficient| x8 and a scale a row| W8 and one scale         |

Memory-efficient needs "global": by columns W has other codes than by rows, so W8 could not serve both ways.

On a GPU (kernels/switchback.py) W is quantised once for both ways, and the backward pass is left its turned
codes. With backend="auto" the two passes together are measured once for a size, and where three plain
products are the faster ones the layer computes those: it is nn.Linear then. backend="triton" always
quantises, and so does a memory-efficient layer, which must keep codes. precision="fp8" has codes in
float8_e4m3fn with 448 for 127 (sums of about 14 bits on Hopper, where int8 sums are exact); "auto" is the
faster of the two.
keep_codes=True quantises W again only when it has changed (another tensor, or another version of it): for
gradients accumulated over several passes. What writes W past autograd's version counter goes unseen.

Rounding is not differentiable, so the gradients are those of the layer without quantisation, nearly; finite
differences do not apply. The bound on the error is `error_bound` in the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from stepmark.zoo.kernels.backend import Backend, check_backend, resolve_on
from stepmark.zoo.kernels.switchback_plain import PlainCalls
from stepmark.zoo.quantize import quantize_global, quantize_rowwise
from stepmark.zoo.switchback_steps import Quantization, StepsWay, SwitchBackSteps

Precision = Literal["int8", "fp8", "auto"]

TOLERANCES = {torch.float64: 1e-13, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.2e-2}
"""Largest difference of the output and of every gradient from the definition in float64, as a part of its
largest magnitude: the rounding of the output, and of the products that are not int8."""


class SwitchBackLinear(nn.Linear):
    """A drop-in for nn.Linear, with the same parameters and the same state."""

    weight_codes: Tensor | None
    weight_scale: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        quantization: Quantization = "vector",
        memory_efficient: bool = False,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        precision: Precision = "int8",
        keep_codes: bool = False,
        backend: Backend = "auto",
    ) -> None:
        check_backend(backend)
        if precision not in ("int8", "fp8", "auto"):
            raise ValueError(f"expected precision 'int8', 'fp8' or 'auto', got {precision!r}")
        if quantization not in ("vector", "global"):
            raise ValueError(f"expected quantization 'vector' or 'global', got {quantization!r}")
        if memory_efficient and quantization == "vector":
            raise ValueError("expected quantization 'global' with memory_efficient, got 'vector'")
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.quantization = quantization
        self.memory_efficient = memory_efficient
        self.precision = precision
        self.keep_codes = keep_codes
        self.backend = backend
        self._kept: Any = None
        self._plain = PlainCalls()
        self.register_buffer("weight_codes", None, persistent=False)
        self.register_buffer("weight_scale", None, persistent=False)

    @classmethod
    def from_linear(
        cls,
        linear: nn.Linear,
        quantization: Quantization = "vector",
        memory_efficient: bool = False,
        **more: Any,
    ) -> Self:
        """The same layer in int8; it shares the parameters."""
        layer = cls(
            linear.in_features,
            linear.out_features,
            linear.bias is not None,
            quantization,
            memory_efficient,
            device="meta",
            **more,
        )
        layer.weight, layer.bias = linear.weight, linear.bias
        return layer.train(linear.training)

    def to_linear(self) -> nn.Linear:
        """The same layer without quantisation; it shares the parameters."""
        linear = nn.Linear(self.in_features, self.out_features, self.bias is not None, device="meta")
        linear.weight, linear.bias = self.weight, self.bias
        return linear.train(self.training)

    def prepare_for_eval(self) -> Self:
        """Switch to evaluation and keep the weight's codes, in int8; `train()` drops them. Who changes the
        weight in evaluation mode prepares again."""
        if self.precision == "fp8":
            raise ValueError("prepared codes are int8, and this layer has precision='fp8'")
        self.eval()
        quantize = quantize_rowwise if self.quantization == "vector" else quantize_global
        self.weight_codes, self.weight_scale = quantize(self.weight, backend=self._operations)
        return self

    def train(self, mode: bool = True) -> Self:
        if mode:
            self.weight_codes = self.weight_scale = None
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        """(..., n) to (..., o)."""
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        is_compiling = torch.compiler.is_compiling()
        if not is_compiling and self._plain.has(x, weight, bias, self._settings):
            return nn.functional.linear(x, weight, bias)
        kind = x.device.type
        if torch.is_autocast_enabled(kind) and torch.float64 not in (x.dtype, weight.dtype):
            narrow = torch.get_autocast_dtype(kind)
            x, weight = x.to(narrow), weight.to(narrow)
            bias = None if bias is None else bias.to(narrow)
        _check_input(x, weight)
        rows = x.reshape(-1, self.in_features)
        if self._uses_kernels(rows):
            given = (x, weight, bias, self._settings)
            noting = None if is_compiling else self._plain.remembering(*given)
            y = self._by_kernels(rows, weight, bias, when_plain=noting)
        else:
            y = SwitchBackSteps.apply(  # type: ignore[no-untyped-call]
                rows,
                weight,
                bias,
                self._way(),
            )
        return y.view(*x.shape[:-1], self.out_features)

    def _way(self) -> StepsWay:
        codes, scale = self.weight_codes, self.weight_scale
        return StepsWay(self.quantization, self.memory_efficient, codes, scale, self._operations)

    @property
    def _operations(self) -> Backend:
        """Of layers that are computed step by step."""
        return "torch" if self.backend == "torch" else "auto"

    def _uses_kernels(self, x: Tensor) -> bool:
        """Codes that were prepared by plain operations go on with those."""
        usable = x.dtype != torch.float64 and self.weight_codes is None
        usable = usable and (x.is_cuda or self.backend == "triton") and resolve_on(self.backend, x.device)
        if self.precision == "fp8" and not usable:
            raise ValueError(f"precision='fp8' needs a GPU and 16 or 32 bits, got {x.dtype} on {x.device}")
        return usable

    @property
    def _settings(self) -> tuple[Any, ...]:
        """What a choice of kernels follows from."""
        prepared = self._buffers["weight_codes"] is not None
        return (
            prepared,
            self.quantization,
            self.memory_efficient,
            self.precision,
            self.keep_codes,
            self.backend,
        )

    def _by_kernels(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, *, when_plain: Callable[[], None] | None
    ) -> Tensor:
        from stepmark.zoo.kernels.switchback import Layer
        from stepmark.zoo.kernels.switchback_operators import linear

        measured, one_scale = self.backend == "auto", self.quantization == "global"
        layer = Layer(self.precision, one_scale, self.memory_efficient, measured)
        keeps = self.keep_codes and not torch.compiler.is_compiling()
        codes_of = self._codes_of(weight) if keeps else None
        return linear(x, weight, bias, layer, codes_of=codes_of, when_plain=when_plain)

    def _codes_of(self, weight: Tensor) -> Any:
        from stepmark.zoo.kernels.kept_codes import KeptCodes

        if self._kept is None:
            self._kept = KeptCodes()
        return partial(self._kept.codes, self.weight, weight.detach())

    def extra_repr(self) -> str:
        settings = ("quantization", "memory_efficient", "precision", "keep_codes", "backend")
        return ", ".join((super().extra_repr(), *(f"{name}={getattr(self, name)!r}" for name in settings)))

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.weight_codes is not None:
            self.prepare_for_eval()  # a cast has rounded the scales
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        if self.weight_codes is not None:
            self.prepare_for_eval()


def _check_input(x: Tensor, weight: Tensor) -> None:
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"expected an input of shape (..., {weight.shape[1]}), got {tuple(x.shape)}")
    if x.dtype is not weight.dtype:
        raise ValueError(f"expected an input of dtype {weight.dtype}, the layer's own, got {x.dtype}")
    if x.device != weight.device:
        raise ValueError(f"expected an input on {weight.device}, as the layer is, got one on {x.device}")
