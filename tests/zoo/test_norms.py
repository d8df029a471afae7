"""Norms: references and kernels against float64, with and without weights, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.zoo.norms import (
    TOLERANCES,
    LayerNorm,
    RMSNorm,
    layer_norm,
    layer_norm_reference,
    rms_norm,
    rms_norm_reference,
)
from tests.support.properties import steady

Norm = Callable[..., Tensor]
RMS: list[Norm] = [rms_norm, rms_norm_reference]
LAYER: list[Norm] = [layer_norm, layer_norm_reference]
leading = st.lists(st.integers(0, 4), max_size=3).map(tuple)
dtypes = st.sampled_from(list(TOLERANCES))


def rms_by_definition(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    y = x * torch.rsqrt((x**2).mean(-1, keepdim=True) + eps)
    return y if weight is None else y * weight


def layer_by_definition(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    variance = (x**2).mean(-1, keepdim=True) - mean**2
    y = (x - mean) / torch.sqrt(variance + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def drawn(*shape: int, dtype: torch.dtype, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) + 0.5).to(dtype).requires_grad_()


def compare(function: Norm, definition: Norm, inputs: list[Tensor | None], eps: float) -> None:
    """Output and the gradient of everything that has one."""
    x = inputs[0]
    assert x is not None
    wide = [None if one is None else one.detach().double().requires_grad_() for one in inputs]
    y, expected = function(*inputs, eps=eps), definition(*wide, eps)
    g = drawn(*x.shape, dtype=x.dtype, seed=9).detach()
    sources = [one for one in inputs if one is not None]
    found = (y, *torch.autograd.grad(y, sources, g))
    right = (expected, *torch.autograd.grad(expected, [one for one in wide if one is not None], g.double()))
    for one, other, source in zip(found, right, (x, *sources), strict=True):
        assert one.dtype == source.dtype
        largest = float(other.detach().abs().max()) if other.numel() else 0.0
        atol = TOLERANCES[source.dtype] * max(largest, float(g.abs().max()) if g.numel() else 0.0)
        torch.testing.assert_close(one.detach().double(), other.detach(), rtol=0.0, atol=atol)


@steady
@given(leading, st.integers(1, 33), dtypes, st.booleans(), st.sampled_from(RMS), st.sampled_from([1e-5, 0.1]))
def test_rms_norm_against_float64(
    lead: tuple[int, ...], features: int, dtype: torch.dtype, affine: bool, function: Norm, eps: float
) -> None:
    x = drawn(*lead, features, dtype=dtype, seed=0)
    weight = drawn(features, dtype=dtype, seed=1) if affine else None
    compare(function, rms_by_definition, [x, weight], eps)


@steady
@given(
    leading, st.integers(2, 33), dtypes, st.sampled_from(["none", "weight", "both"]), st.sampled_from(LAYER)
)
def test_layer_norm_against_float64(
    lead: tuple[int, ...], features: int, dtype: torch.dtype, affine: str, function: Norm
) -> None:
    x = drawn(*lead, features, dtype=dtype, seed=0)
    weight = drawn(features, dtype=dtype, seed=1) if affine != "none" else None
    bias = drawn(features, dtype=dtype, seed=2) if affine == "both" else None
    # An eps that keeps two nearly equal features from being divided by next to nothing.
    compare(function, layer_by_definition, [x, weight, bias], 0.1)


@pytest.mark.parametrize("function", [*RMS, *LAYER])
def test_gradcheck(function: Norm) -> None:
    x, weight = drawn(3, 5, dtype=torch.float64, seed=0), drawn(5, dtype=torch.float64, seed=1)
    assert torch.autograd.gradcheck(function, (x, weight))


@pytest.mark.parametrize("function", RMS)
def test_a_case_worked_out_by_hand(function: Norm) -> None:
    y = function(torch.tensor([3.0, 4.0, 0.0, 0.0]), eps=0.0)
    assert y.tolist() == pytest.approx([1.2, 1.6, 0.0, 0.0])


@pytest.mark.parametrize("function", LAYER)
def test_centring_and_scaling_by_hand(function: Norm) -> None:
    assert function(torch.tensor([1.0, 3.0]), eps=0.0).tolist() == pytest.approx([-1.0, 1.0])
    assert function(torch.full((4,), 7.0)).tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("function", [*RMS, *LAYER])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_inputs_do_not_overflow_their_squares(function: Norm, dtype: torch.dtype) -> None:
    """1000 squared is beyond float16."""
    x = torch.tensor([1000.0, -1000.0] * 8, dtype=dtype)
    assert function(x).tolist() == [1.0, -1.0] * 8


@pytest.mark.parametrize("function", [*RMS, *LAYER])
def test_a_wide_weight_is_used_as_it_is(function: Norm) -> None:
    x, weight = drawn(4, 8, dtype=torch.bfloat16, seed=0), drawn(8, dtype=torch.float32, seed=1)
    y = function(x, weight)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y, function(x.detach().float(), weight).bfloat16(), rtol=0.0, atol=0.0)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("function", [*RMS, *LAYER])
def test_without_gradients_it_is_the_same(function: Norm, affine: bool) -> None:
    for rows in (4, 1 << 15):  # rms_norm has another way for many
        x = drawn(rows, 8, dtype=torch.float32, seed=0)
        weight = drawn(8, dtype=torch.float32, seed=1) if affine else None
        with torch.no_grad():
            found = function(x, weight)
        torch.testing.assert_close(found, function(x, weight))
        assert torch.equal(x, drawn(rows, 8, dtype=torch.float32, seed=0))


@pytest.mark.parametrize("function", [*RMS, *LAYER])
def test_second_derivatives(function: Norm) -> None:
    x, weight = drawn(3, 4, dtype=torch.float64, seed=0), drawn(4, dtype=torch.float64, seed=1)
    assert torch.autograd.gradgradcheck(function, (x, weight))
    assert torch.autograd.gradgradcheck(function, (x,))


@pytest.mark.parametrize("affine", [True, False])
def test_the_modules_are_their_functions(affine: bool) -> None:
    x = drawn(2, 3, 8, dtype=torch.float32, seed=0)
    rms, layer = RMSNorm(8, eps=1e-3, affine=affine), LayerNorm(8, eps=1e-3, affine=affine)
    assert torch.equal(rms(x), rms_norm(x, rms.weight, eps=1e-3))
    assert torch.equal(layer(x), layer_norm(x, layer.weight, layer.bias, eps=1e-3))
    assert len(list(rms.parameters())) == int(affine)
    assert len(list(layer.parameters())) == 2 * int(affine)
    theirs = nn.LayerNorm(8, eps=1e-3, elementwise_affine=affine)
    torch.testing.assert_close(layer(x), theirs(x))


def test_a_bias_can_be_left_out() -> None:
    assert [name for name, _ in LayerNorm(8, bias=False).named_parameters()] == ["weight"]


@pytest.mark.parametrize("make", [RMSNorm, LayerNorm])
def test_state_copies_and_pickles(make: type[RMSNorm | LayerNorm]) -> None:
    norm = make(8)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    other = make(8)
    other.load_state_dict(norm.state_dict())
    x = drawn(3, 8, dtype=torch.float32, seed=0)
    for copied in (other, copy.deepcopy(norm), pickle.loads(pickle.dumps(norm))):
        assert torch.equal(copied(x), norm(x))
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(norm, backend="aot_eager", fullgraph=True)(x), norm(x))
    assert norm.half()(x.half()).dtype == torch.float16


@pytest.mark.parametrize("function", [*RMS, *LAYER])
def test_what_the_functions_refuse(function: Norm) -> None:
    with pytest.raises(ValueError, match=r"floating-point numbers, not torch\.int64"):
        function(torch.arange(4))
    with pytest.raises(ValueError, match=r"weight must have shape \(4,\) for x \(2, 4\), got \(3,\)"):
        function(torch.randn(2, 4), torch.ones(3))
    with pytest.raises(ValueError, match=r"N of at least 1, got \(3, 0\)"):
        function(torch.randn(3, 0))


@pytest.mark.parametrize("make", [RMSNorm, LayerNorm])
def test_what_the_modules_refuse(make: type[RMSNorm | LayerNorm]) -> None:
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 4\), got \(2, 5\)"):
        make(4, affine=False)(torch.randn(2, 5))
    with pytest.raises(ValueError, match="at least one feature, not 0"):
        make(0)
