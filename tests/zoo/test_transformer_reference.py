"""The written-out transformer, where the answer can be told by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from stepmark.zoo.sizes import TransformerConfig
from stepmark.zoo.transformer import TransformerLM
from stepmark.zoo.transformer_reference import EPS, transformer_reference

CONFIG = TransformerConfig(vocab=7, d_model=8, d_ff=6, layers=1, heads=2, context=8)
TOKENS = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 5]])


@pytest.fixture
def weights() -> dict[str, Tensor]:
    torch.manual_seed(0)
    return dict(TransformerLM(CONFIG, dtype=torch.float64).state_dict())


def normed(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS)


def test_without_what_layers_write_the_head_reads_the_embedding(weights: dict[str, Tensor]) -> None:
    weights["blocks.0.attention.output.weight"].zero_()
    weights["blocks.0.feed_forward.w2.weight"].zero_()
    expected = normed(weights["embedding.weight"][TOKENS]) @ weights["head.weight"].T
    torch.testing.assert_close(transformer_reference(weights, TOKENS, CONFIG), expected)


def test_queries_of_zero_average_all_values_so_far(weights: dict[str, Tensor]) -> None:
    weights["blocks.0.attention.query.weight"].zero_()
    weights["blocks.0.feed_forward.w2.weight"].zero_()
    x = weights["embedding.weight"][TOKENS]
    values = normed(x) @ weights["blocks.0.attention.value.weight"].T
    mean = values.cumsum(1) / torch.arange(1, 6, dtype=torch.float64)[:, None]
    x = x + mean @ weights["blocks.0.attention.output.weight"].T
    expected = normed(x) @ weights["head.weight"].T
    torch.testing.assert_close(transformer_reference(weights, TOKENS, CONFIG), expected)


def test_the_gate_of_the_feed_forward_is_silu(weights: dict[str, Tensor]) -> None:
    weights["blocks.0.attention.output.weight"].zero_()
    x = weights["embedding.weight"][TOKENS]
    w1, w2, w3 = (weights[f"blocks.0.feed_forward.w{number}.weight"] for number in (1, 2, 3))
    gate = normed(x) @ w1.T
    x = x + (gate * torch.sigmoid(gate) * (normed(x) @ w3.T)) @ w2.T
    expected = normed(x) @ weights["head.weight"].T
    torch.testing.assert_close(transformer_reference(weights, TOKENS, CONFIG), expected)


def test_the_order_of_earlier_tokens_is_seen_through_the_rotations(weights: dict[str, Tensor]) -> None:
    one = transformer_reference(weights, torch.tensor([[1, 2, 3]]), CONFIG)
    other = transformer_reference(weights, torch.tensor([[2, 1, 3]]), CONFIG)
    assert (one[0, 2] - other[0, 2]).abs().max() > 1e-3
