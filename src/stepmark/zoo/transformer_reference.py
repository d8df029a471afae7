"""The transformer language model written out with loops: slow, and short enough to be seen to be right.

It takes the weights by their names in TransformerLM and shares no code with it. Gradients come from autograd.

T sequence, d d_model, D features of a head, V vocabulary
"""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, sin, sqrt

import torch
from torch import Tensor

from stepmark.zoo.sizes import TransformerConfig

EPS = 1e-5


def transformer_reference(weights: Mapping[str, Tensor], tokens: Tensor, config: TransformerConfig) -> Tensor:
    """Logits (B, T, V) of tokens (B, T), one sequence after the other."""
    return torch.stack([_sequence(weights, row, config) for row in tokens])


def _sequence(weights: Mapping[str, Tensor], tokens: Tensor, config: TransformerConfig) -> Tensor:
    x = torch.stack([weights["embedding.weight"][int(token)] for token in tokens])
    for layer in range(config.layers):
        own = {
            name.removeprefix(f"blocks.{layer}."): weight
            for name, weight in weights.items()
            if name.startswith(f"blocks.{layer}.")
        }
        x = x + _attention(own, _normed(x, own["attention_norm.weight"]), config)
        x = x + _swiglu(own, _normed(x, own["feed_forward_norm.weight"]))
    return _normed(x, weights["norm.weight"]) @ weights["head.weight"].T


def _normed(x: Tensor, gain: Tensor) -> Tensor:
    return torch.stack([row / torch.sqrt((row * row).mean() + EPS) * gain for row in x])


def _attention(weights: Mapping[str, Tensor], x: Tensor, config: TransformerConfig) -> Tensor:
    size = config.d_model // config.heads
    heads = []
    for head in range(config.heads):
        mine = slice(head * size, (head + 1) * size)
        query = _rotated(x @ weights["attention.query.weight"][mine].T, config.rope_theta)
        key = _rotated(x @ weights["attention.key.weight"][mine].T, config.rope_theta)
        value = x @ weights["attention.value.weight"][mine].T
        heads.append(torch.stack([_look_back(query[p], key[: p + 1], value[: p + 1]) for p in range(len(x))]))
    return torch.cat(heads, dim=-1) @ weights["attention.output.weight"].T


def _look_back(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """One position (D,) looks at the positions up to itself (p + 1, D)."""
    scores = torch.stack([query @ key for key in keys]) / sqrt(len(query))
    powers = torch.exp(scores - scores.max())
    return (powers / powers.sum()) @ values


def _rotated(x: Tensor, theta: float) -> Tensor:
    rows = []
    for position, row in enumerate(x):
        parts = []
        for pair in range(len(row) // 2):
            angle = position * theta ** (-2 * pair / len(row))
            even, odd = row[2 * pair], row[2 * pair + 1]
            parts += [even * cos(angle) - odd * sin(angle), even * sin(angle) + odd * cos(angle)]
        rows.append(torch.stack(parts))
    return torch.stack(rows)


def _swiglu(weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
    gate = x @ weights["feed_forward.w1.weight"].T
    gate = gate / (1 + torch.exp(-gate))
    return (gate * (x @ weights["feed_forward.w3.weight"].T)) @ weights["feed_forward.w2.weight"].T
