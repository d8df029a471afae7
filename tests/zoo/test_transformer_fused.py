"""Fused layers: outputs and all gradients of the plain ones, in float64 and in any shape."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.zoo.rope import Rope
from stepmark.zoo.sizes import Attention, TransformerConfig
from stepmark.zoo.transformer import CausalSelfAttention, SwiGLU
from stepmark.zoo.transformer_fused import FusedSelfAttention, FusedSwiGLU
from tests.support.properties import steady
from tests.zoo.agreement import largest_error

SAME = 1e-12


def assert_same(plain: nn.Module, fused: nn.Module, x: Tensor, *tables: Tensor) -> None:
    """With the plain layer's weights; gradients of the input and of every weight, by the plain names."""
    fused.load_state_dict(plain.state_dict())
    results = []
    for layer in (plain, fused):
        given_ = x.clone().requires_grad_()
        y = layer(given_, *tables)
        torch.autograd.backward(y, torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape))
        with torch.no_grad():
            for parameter in layer.parameters():
                assert parameter.grad is not None
                parameter.copy_(parameter.grad)
        results.append({"output": y, "input": given_.grad, **layer.state_dict()})
    assert results[0].keys() == results[1].keys()
    for name, exact in results[0].items():
        assert largest_error(results[1][name], exact, least=1e-3) <= SAME, name


@settings(steady, max_examples=20)
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 3),
    st.sampled_from(["sdpa", "naive"]),
)
def test_attention(batch: int, heads: int, length: int, pairs: int, attention: Attention) -> None:
    config = TransformerConfig(
        d_model=2 * pairs * heads, d_ff=1, layers=1, heads=heads, context=8, attention=attention
    )
    plain, fused = (kind(config, dtype=torch.float64) for kind in (CausalSelfAttention, FusedSelfAttention))
    cos, sin = Rope(2 * pairs, 8, dtype=torch.float64)(length)
    x = torch.randn(batch, length, config.d_model, dtype=torch.float64)
    assert_same(plain, fused, x, cos, sin)


@settings(steady, max_examples=20)
@given(st.lists(st.integers(1, 3), max_size=2), st.integers(1, 6), st.integers(1, 7))
def test_swiglu(lead: list[int], width: int, inner: int) -> None:
    plain, fused = (kind(width, inner, dtype=torch.float64) for kind in (SwiGLU, FusedSwiGLU))
    assert_same(plain, fused, torch.randn(*lead, width, dtype=torch.float64))
