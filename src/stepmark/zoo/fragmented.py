"""FragmentedLinear: a linear layer of which training uses every fragment a little and inference one per row.

Shapes
------
B  rows (all leading dimensions)     n  input features     F  fragments, s = n / F features each
o  output features                   c  compressed features
x (B, n) · selector S (F, s) · weight W (F, s, o) · compressor A (n, c) · decompressor D (o, c) · bias (o)

Formula (the definition stands in fragmented_reference.py)
----------------------------------------------------------
t_f = <x_f, S_f>, at least in float32: in 16 bits near scores change places
soft     z = x * p~,  p = softmax(t), p~ = every p_f repeated s times
         y = z W' + ((x (1 - p~)) A) D^T,  W' = W seen as (n, o): one dense product, nothing of size B F o
hard     j = argmax t, the first of equals;  y = x_j W_j + ((x without fragment j) A) D^T
         rows that chose the same fragment are multiplied together with a view of its weights, so that only
         chosen fragments are read: U of F, 1 <= U <= min(B, F)

Limits, with c = n / 32 and few rows, from the bytes of weights read: soft takes at least 1 + 1/16 of
nn.Linear's time, hard at least U/F + 1/16 of it. The argmax has no gradient: in hard selection the selector's
stays None, and the weight's is dense with noughts where nothing was chosen.

Backends
--------
`torch`  plain PyTorch. Hard selection asks the device which fragments were chosen, so it waits for it once a
         call, and torch.compile leaves it outside the graph.
`triton` kernels/fragmented.py, for float32, bfloat16 and float16 on a GPU: no wait, fit for CUDA graphs.
`auto`   triton where it can be used, torch elsewhere. On a GPU, what there are no kernels for (float64, under
         autocast, more than 16384 features) is computed densely, with noughts for what was not chosen: the
         device is not waited for, but all weights are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from stepmark.zoo.kernels import fragmented as kernels
from stepmark.zoo.kernels.backend import Backend, check_backend, resolve, resolve_on
from stepmark.zoo.kernels.fragmented_gate import soft as soft_kernels
from stepmark.zoo.kernels.fragmented_shortcut import Shortcut
from stepmark.zoo.kernels.fragmented_sizes import Parameters
from stepmark.zoo.kernels.undisturbed import without_autocast

Selection = Literal["auto", "soft", "hard"]
Span = tuple[int, int, int]
"""A fragment, and the first and last + 1 of the sorted rows that chose it."""

TOLERANCES = {torch.float64: 1e-13, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 3e-2}
"""Largest error of the output and of every gradient against the reference in float64 on the same values, as a
part of the reference's largest magnitude."""


class FragmentedLinear(nn.Module):
    """Selection `auto` is soft in training and hard in evaluation; `soft` and `hard` hold in both."""

    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        fragments: int,
        compressed: int | None = None,
        bias: bool = False,
        *,
        selection: Selection = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        compressed = in_features // 32 if compressed is None else compressed
        _check_sizes(in_features, out_features, fragments, compressed, selection)
        check_backend(backend)
        self.in_features = in_features
        self.out_features = out_features
        self.fragments = fragments
        self.compressed = compressed
        self.selection = selection
        self.backend = backend
        size = in_features // fragments

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.selector = parameter(fragments, size)
        self.weight = parameter(fragments, size, out_features)
        # Not (c, n): 16 rows of 4096 features through c = 128 would take 780 µs, not 160 (MKL, one core).
        self.compressor = parameter(in_features, compressed)
        self.decompressor = parameter(out_features, compressed)
        self.register_parameter("bias", parameter(out_features) if bias else None)
        self._shortcut = Shortcut()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Selector and weight normal with variance 1/s; the narrow way and the bias as in nn.Linear."""
        deviation = self.selector.shape[1] ** -0.5
        nn.init.normal_(self.selector, std=deviation)
        nn.init.normal_(self.weight, std=deviation)
        for matrix, fan_in in ((self.compressor, self.in_features), (self.decompressor, self.compressed)):
            if matrix.numel():
                nn.init.uniform_(matrix, -(fan_in**-0.5), fan_in**-0.5)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -(self.in_features**-0.5), self.in_features**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """(..., n) to (..., o)."""
        soft = self.training if self.selection == "auto" else self.selection == "soft"
        is_compiling = torch.compiler.is_compiling()
        if not soft and not is_compiling:
            y = self._shortcut(x, self._parameters, self.backend)
            if y is not None:
                return y
        parameters = self._own_parameters()
        _check_input(x, self.in_features, parameters.weight.dtype)
        if is_compiling:
            return self._compiled(x, parameters, soft=soft)
        return self._the_long_way(x, parameters, soft=soft)

    def _the_long_way(self, x: Tensor, parameters: Parameters, *, soft: bool) -> Tensor:
        if not resolve(self.backend, x):
            product = soft_product if soft else hard_product
        elif kernels.suits(x, parameters) and not torch.is_autocast_enabled("cuda" if x.is_cuda else "cpu"):
            product = soft_kernels if soft else kernels.hard
        else:
            product = soft_product if soft else masked_product
        y = self._by_rows(product, x, parameters)
        if product is kernels.hard and not torch.is_grad_enabled():
            self._shortcut.remember(x, parameters, self._parameters, self.backend)
        return y

    def _compiled(self, x: Tensor, parameters: Parameters, *, soft: bool) -> Tensor:
        if soft:
            return self._by_rows(soft_product, x, parameters)
        # Named, the operator says why not; here it would be an error of the compiler's.
        if self.backend == "triton" or resolve_on(self.backend, x.device):
            suits = kernels.suits_but_for_rows(x, parameters)
            dense = not suits or torch.is_autocast_enabled(x.device.type)
            return self._by_rows(masked_product if dense else kernels.hard, x, parameters)
        # Which weights are read depends on values: every new choice would be another graph.
        by_rows: Callable[..., Tensor] = torch.compiler.disable(self._by_rows)  # type: ignore[no-untyped-call]
        return by_rows(hard_product, x, parameters)

    def _own_parameters(self) -> Parameters:
        own = self._parameters
        if len(own) == len(
            Parameters._fields
        ):  # looked up here, because Module.__getattr__ takes a microsecond
            return Parameters(*[own[name] for name in Parameters._fields])  # type: ignore[arg-type]
        return Parameters(self.selector, self.weight, self.compressor, self.decompressor, self.bias)

    def _by_rows(
        self, product: Callable[[Tensor, Parameters], Tensor], x: Tensor, parameters: Parameters
    ) -> Tensor:
        if x.ndim == 2:
            return product(x, parameters)
        y = product(x.reshape(-1, self.in_features), parameters)
        return y.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"fragments={self.fragments}, compressed={self.compressed}, bias={self.bias is not None}, "
            f"selection={self.selection!r}, backend={self.backend!r}"
        )


def soft_product(x: Tensor, parameters: Parameters) -> Tensor:
    """All fragments, weighted: (B, n) to (B, o)."""
    selector, weight, compressor, decompressor, bias = parameters
    fragments = x.view(-1, *selector.shape)
    probability = torch.softmax(_scores(fragments, selector), dim=-1).unsqueeze(-1)
    if x.dtype.itemsize > 2:
        own = fragments * probability
        rest = fragments - own
    else:  # where one fragment has nearly all, the difference would have hardly a digit left
        own = fragments * probability.to(x.dtype)
        rest = fragments * (1.0 - probability).to(x.dtype)
    y = _narrow(rest.reshape(x.shape), compressor, decompressor, bias)
    return torch.addmm(y, own.reshape(x.shape), weight.view(-1, weight.shape[2]))


def hard_product(x: Tensor, parameters: Parameters) -> Tensor:
    """The best fragment of every row: (B, n) to (B, o)."""
    if x.shape[0] == 1 and not torch.is_grad_enabled():
        return _one_row(x, parameters)
    selector, weight, compressor, decompressor, bias = parameters
    fragments = x.view(-1, *selector.shape)
    with torch.no_grad():
        chosen = _scores(fragments, selector).argmax(-1)
        rows, spans = _group(chosen, selector.shape[0])
    every = torch.arange(x.shape[0], device=x.device)
    rest = fragments.index_put((every, chosen), x.new_zeros(())).flatten(1)
    own = fragments[rows, chosen[rows]].to(weight.dtype)  # under autocast the input may be narrower
    expert: Tensor = _GroupedProduct.apply(own, weight, spans)  # type: ignore[no-untyped-call]
    y = _narrow(rest, compressor, decompressor, bias)
    return y.index_add(0, rows, expert.to(y.dtype))


def _one_row(x: Tensor, parameters: Parameters) -> Tensor:
    """One row needs no sorting, and reads so little that every operation spared is seen."""
    selector, weight, compressor, decompressor, bias = parameters
    fragments = x.view(selector.shape)
    chosen = int(_scores(fragments, selector).argmax())
    rest = fragments.clone()
    rest[chosen].zero_()
    y = _narrow(rest.view(1, -1), compressor, decompressor, bias)
    return torch.addmm(y, fragments[chosen : chosen + 1], weight[chosen])


def masked_product(x: Tensor, parameters: Parameters) -> Tensor:
    """The same, densely and without a wait for the device."""
    selector, weight, compressor, decompressor, bias = parameters
    fragments = x.view(-1, *selector.shape)
    chosen = _scores(fragments, selector).argmax(-1, keepdim=True)
    is_chosen = (chosen == torch.arange(selector.shape[0], device=x.device)).unsqueeze(-1)
    own = fragments.where(is_chosen, 0.0).reshape(x.shape)
    rest = fragments.masked_fill(is_chosen, 0.0).reshape(x.shape)
    return own @ weight.view(-1, weight.shape[2]) + _narrow(rest, compressor, decompressor, bias)


def _scores(fragments: Tensor, selector: Tensor) -> Tensor:
    """(..., F, s) to (..., F), in float32 at least."""
    if fragments.dtype.itemsize <= 2:
        fragments = fragments.float()
    return (fragments * selector).sum(-1)


def _narrow(x: Tensor, compressor: Tensor, decompressor: Tensor, bias: Tensor | None) -> Tensor:
    return nn.functional.linear(x @ compressor, decompressor, bias)


def _group(chosen: Tensor, num_fragments: int) -> tuple[Tensor, tuple[Span, ...]]:
    """Rows in the order of their fragments, and where each fragment's rows lie among them."""
    counts = chosen.bincount(minlength=num_fragments).tolist()
    spans, begin = [], 0
    for fragment, count in enumerate(counts):
        if count:
            spans.append((fragment, begin, begin + count))
            begin += count
    return chosen.argsort(), tuple(spans)


class _GroupedProduct(torch.autograd.Function):
    """Each span of rows times its own fragment's weights. Indexing in plain autograd would make a gradient as
    large as the weight for every span, and add them up; here there is one."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, spans: tuple[Span, ...]) -> Tensor:
        ctx.save_for_backward(rows, weight)
        ctx.spans = spans
        product = rows.new_empty(rows.shape[0], weight.shape[2])
        for fragment, begin, end in spans:
            torch.mm(rows[begin:end], weight[fragment], out=product[begin:end])
        return product

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        rows, weight = ctx.saved_tensors
        grad_rows = torch.empty_like(rows) if ctx.needs_input_grad[0] else None
        grad_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        for fragment, begin, end in ctx.spans:
            piece = grad[begin:end]
            if grad_rows is not None:
                torch.mm(piece, weight[fragment].t(), out=grad_rows[begin:end])
            if grad_weight is not None:
                torch.mm(rows[begin:end].t(), piece, out=grad_weight[fragment])
        return grad_rows, grad_weight, None


def _check_sizes(
    in_features: int, out_features: int, fragments: int, compressed: int, selection: str
) -> None:
    if in_features < 1 or out_features < 1:
        raise ValueError(f"expected at least one feature in and out, got {in_features} and {out_features}")
    if fragments < 1 or in_features % fragments:
        raise ValueError(f"expected fragments that divide in_features={in_features} evenly, got {fragments}")
    if compressed < 0:
        raise ValueError(f"expected compressed features of 0 or more, got {compressed}")
    if selection not in ("auto", "soft", "hard"):
        raise ValueError(f"expected selection 'auto', 'soft' or 'hard', got {selection!r}")


def _check_input(x: Tensor, in_features: int, dtype: torch.dtype) -> None:
    if x.ndim == 0 or x.shape[-1] != in_features:
        raise ValueError(f"expected an input of shape (..., {in_features}), got {tuple(x.shape)}")
    if x.dtype is not dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"expected an input of dtype {dtype}, the layer's own, got {x.dtype}")
