"""TransformerLM: a decoder-only language model, pre-norm, with rotations, SwiGLU and an untied head.

B batch, T sequence, d d_model, f d_ff, h heads, D = d / h, V vocabulary

  x (B, T, d)  = embedding[tokens]                      tokens (B, T) int64
  x            = x + attention(norm(x))                 layer by layer
  x            = x + W2 (silu(W1 x') * W3 x')           x' = norm(x), W1 and W3 (f, d), W2 (d, f)
  logits       = head(norm(x))                          (B, T, V)

Norms are RMSNorm with eps 1e-5, computed in float32; there are no biases and there is no dropout. Matrices
begin as a normal of deviation sqrt(2 / (in + out)), embeddings as one of deviation 1, both cut at three
deviations; gains begin at 1.
Source.  CS336 (Stanford), assignments 1 and 2. `transformer_reference` computes the same with loops.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import silu
from torch.utils.checkpoint import checkpoint

from stepmark.zoo.attention import ATTENTIONS
from stepmark.zoo.kernels.backend import Backend
from stepmark.zoo.norms import RMSNorm
from stepmark.zoo.projection import Projection, cut_normal
from stepmark.zoo.rope import Rope, rotate
from stepmark.zoo.sizes import TransformerConfig
from stepmark.zoo.transformer_fused import FusedSelfAttention, FusedSwiGLU

EPS = 1e-5
TOLERANCES = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 6e-2, torch.float16: 1e-2}
"""Largest error of the logits and of every gradient against `transformer_reference` in float64 on the same
weights, relative to the largest value of each tensor; two layers, width 16 to 32."""


class TokenEmbedding(nn.Embedding):
    """A row of deviation 1 for every token."""

    def reset_parameters(self) -> None:
        cut_normal(self.weight, 1.0)


class CausalSelfAttention(nn.Module):
    """Heads that look at what came before; x (B, T, d), tables of rotation (T, D / 2)."""

    def __init__(
        self,
        config: TransformerConfig,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.kind = config.heads, config.attention
        width = config.d_model
        self.query = Projection(width, width, device=device, dtype=dtype)
        self.key = Projection(width, width, device=device, dtype=dtype)
        self.value = Projection(width, width, device=device, dtype=dtype)
        self.output = Projection(width, width, device=device, dtype=dtype)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        query, key, value = (self._split(part(x)) for part in (self.query, self.key, self.value))
        seen = ATTENTIONS[self.kind](rotate(query, cos, sin), rotate(key, cos, sin), value)
        joined: Tensor = self.output(seen.transpose(1, 2).flatten(-2))
        return joined

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, h, T, D)"""
        return x.view(*x.shape[:-1], self.heads, x.shape[-1] // self.heads).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, {self.kind}"


class SwiGLU(nn.Module):
    """A gated pair of products: W2 (silu(W1 x) * W3 x)."""

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.w1 = Projection(d_model, d_ff, device=device, dtype=dtype)
        self.w2 = Projection(d_ff, d_model, device=device, dtype=dtype)
        self.w3 = Projection(d_model, d_ff, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        gated: Tensor = self.w2(silu(self.w1(x)) * self.w3(x))
        return gated


def _norm(
    config: TransformerConfig, *, device: torch.device | str | None, dtype: torch.dtype | None
) -> RMSNorm:
    backend: Backend = "auto" if config.fused else "torch"
    return RMSNorm(config.d_model, EPS, device=device, dtype=dtype, backend=backend)


class Block(nn.Module):
    """One layer: attention and SwiGLU, each on the normed stream and added to it."""

    def __init__(
        self,
        config: TransformerConfig,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        attention = FusedSelfAttention if config.fused else CausalSelfAttention
        feed_forward = FusedSwiGLU if config.fused else SwiGLU
        self.attention_norm = _norm(config, device=device, dtype=dtype)
        self.attention = attention(config, device=device, dtype=dtype)
        self.feed_forward_norm = _norm(config, device=device, dtype=dtype)
        self.feed_forward = feed_forward(config.d_model, config.d_ff, device=device, dtype=dtype)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        after: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return after


class TransformerLM(nn.Module):
    """Logits of the next token at every position: tokens (B, T) int64 -> (B, T, V).

    Modes: attention, fused layers and checkpointing by the config; autocast and torch.compile from outside,
    as usual, or `compile_layers`. A whole step as one CUDA graph: stepmark.zoo.StepGraph.
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab, config.d_model, device=device, dtype=dtype)
        self.rope = Rope(config.head_features, config.context, config.rope_theta, device=device, dtype=dtype)
        self.blocks = nn.ModuleList(Block(config, device=device, dtype=dtype) for _ in range(config.layers))
        self.norm = _norm(config, device=device, dtype=dtype)
        self.head = Projection(config.d_model, config.vocab, device=device, dtype=dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        self._check(tokens)
        cos, sin = self.rope(tokens.shape[1])
        x = self.embedding(tokens)
        for block in self.blocks:
            x = self._through(block, x, cos, sin)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def compile_layers(self, **options: Any) -> None:
        """torch.compile layer by layer: they run the same code, so that it is compiled once for all of them.
        At 48 layers that took less than 13 s, the model's building included, where the published first call
        of the whole model compiled took 101 s. What Python does between the layers is left, and is gone in
        a StepGraph."""
        for block in self.blocks:
            block.compile(**{"fullgraph": True, "dynamic": False, **options})

    def _through(self, block: nn.Module, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if not (self.config.checkpoint and torch.is_grad_enabled()):
            after: Tensor = block(x, cos, sin)
            return after
        # nothing here draws random numbers, so their state need not be kept to compute the layer again
        again: Tensor = checkpoint(block, x, cos, sin, use_reentrant=False, preserve_rng_state=False)
        return again

    def _check(self, tokens: Tensor) -> None:
        """Whether a token is in the vocabulary is the embedding's to see: looking would stall a GPU."""
        if tokens.dtype != torch.int64:
            raise ValueError(f"expected tokens of dtype torch.int64, got {tokens.dtype}")
        if tokens.dim() != 2:
            raise ValueError(f"expected tokens of shape (batch, sequence), got {tuple(tokens.shape)}")
        if not 0 < tokens.shape[1] <= self.config.context:
            raise ValueError(
                f"expected a sequence of 1 to {self.config.context} tokens (the context), "
                f"got {tokens.shape[1]}"
            )
