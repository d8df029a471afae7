"""Transformer sizes: the published model shapes, and what each needs in parameters, work and memory.

Arithmetic only, without torch: whether a case fits is predicted before anything is built.

V vocabulary, d d_model, f d_ff, L layers, h heads, T context, B batch, N = B T tokens

Parameters.   2 V d + L (4 d^2 + 3 d f + 2 d) + d: embedding and head untied, four attention and three SwiGLU
              matrices a layer, two norms a layer and one at the end, no biases.
Work.         2 N (L (4 d^2 + 3 d f) + V d) for the matrices, and 4 d L B for each pair of positions that
              attend to each other: T (T + 1) / 2 of them are causal, T^2 are computed by a naive attention.
              Norms, rotations, softmax and activations are left out (below 1 % of it at these sizes).
              Backward is twice that.
Source.       CS336 (Stanford), assignment 2, model table. The names are those of 2025, where xl has d_model
              1600; the 2026 edition calls the old 2.7B xl and adds the 10B. With three matrices of d_ff = 4 d
              a layer "2.7B" has 3.4 and "10B" 12.8 billion parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Attention = Literal["sdpa", "naive"]

FOREACH_TEMPORARIES = 1
"""Copies of all parameters that torch's default foreach AdamW holds for a moment (a fused one holds none)."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The shape of a language model, and the modes it is built with."""

    d_model: int
    """Width of the residual stream."""
    d_ff: int
    """Width inside the SwiGLU."""
    layers: int
    heads: int
    vocab: int = 10_000
    context: int = 512
    """The longest sequence that the model takes."""
    rope_theta: float = 10_000.0
    attention: Attention = "sdpa"
    """`sdpa`: torch's fused kernels; `naive`: every score is written to memory."""
    checkpoint: bool = False
    """Keep only the input of each layer for the backward pass and compute the rest again."""
    fused: bool = False
    """One product for queries, keys and values and one for SwiGLU's pair, and kernels instead of chains."""

    def __post_init__(self) -> None:
        for name in ("d_model", "d_ff", "layers", "heads", "vocab", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"expected {name} of at least 1, got {getattr(self, name)}")
        if self.d_model % self.heads or self.head_features % 2:
            raise ValueError(
                "expected d_model to be heads times an even number (rotations turn pairs), "
                f"got d_model {self.d_model} and {self.heads} heads"
            )
        if not self.rope_theta > 0.0:
            raise ValueError(f"expected a positive rope_theta, got {self.rope_theta}")
        if self.attention not in get_args(Attention):
            raise ValueError(f"expected attention 'sdpa' or 'naive', got '{self.attention}'")

    @property
    def head_features(self) -> int:
        return self.d_model // self.heads

    def parameters(self) -> int:
        """Parameters of the model."""
        norms = (2 * self.layers + 1) * self.d_model
        return self.matmul_parameters() + self.vocab * self.d_model + norms

    def matmul_parameters(self) -> int:
        """Parameters that multiply every token; the embedding is only looked up."""
        a_layer = 4 * self.d_model**2 + 3 * self.d_model * self.d_ff
        return self.layers * a_layer + self.vocab * self.d_model

    def forward_flops(self, batch: int, context: int, *, causal: bool = True) -> int:
        """Floating-point operations of one forward pass; `causal=False` counts the masked scores as well."""
        pairs = context * (context + 1) // 2 if causal else context**2
        matrices = 2 * batch * context * self.matmul_parameters()
        return matrices + 4 * self.d_model * self.layers * batch * pairs

    def saved_bytes(
        self, batch: int, context: int, dtype_bytes: int, *, autocast_bytes: int | None = None
    ) -> int:
        """Bytes that autograd keeps of the layers for the backward pass, an estimate.

        A layer keeps of each token, w bytes wide and n bytes under autocast (n = w without):
          4 d w        the residual stream and its normed value before the gain, twice
          6 d n        what enters the projections, twice; queries, keys, values; what attention gives
          4 f n        both SwiGLU products, the activation of one, and what they make together
        and, where attention is naive, its weights: B h T^2 n, under autocast B h T^2 (w + n), because softmax
        then works in the wide type. With checkpointing it keeps d w, its input.
        """
        tokens = batch * context
        if self.checkpoint:
            return tokens * self.layers * self.d_model * dtype_bytes
        return self.layers * self._layer_bytes(batch, context, dtype_bytes, autocast_bytes)

    def memory_bytes(
        self,
        batch: int,
        context: int,
        dtype_bytes: int,
        *,
        training: bool,
        optimizer: bool,
        autocast_bytes: int | None = None,
    ) -> int:
        """Peak bytes of a step, an estimate of what the tensors need; kernels' workspaces and fragmentation
        come on top. Gradients are taken to be None when a step begins, as torch's zero_grad leaves them.

          inference   W + C + most of (A, logits)
          training    W + C + M + most of (S + loss, max(S, G) + R + A, G + O)

        W weights, C autocast's copies of the matrices, M two moments (optimizer), G gradients, S saved_bytes,
        A a layer at work (its gradients on their way back take as much), R a layer computed again
        (checkpointing), O the optimizer's temporaries. The loss holds four tensors of V a token: the logits,
        their logarithmic softmax and the gradients of both.
        Torch's memory profiler on a CPU (widths 32 to 256, 4 and 6 layers, both attentions, with and without
        AdamW) saw of this estimate 0.95 to 1.05 in float32, 0.84 to 1.14 under autocast, and 0.78 to 0.94
        where a checkpointed model trains.
        """
        narrow = autocast_bytes or dtype_bytes
        weights = self.parameters() * dtype_bytes
        copies = self.matmul_parameters() * autocast_bytes if autocast_bytes else 0
        logits = batch * context * self.vocab
        at_work = self._live_bytes(batch, context, dtype_bytes, narrow)
        if not training:
            return weights + copies + max(at_work, logits * narrow)
        saved = self.saved_bytes(batch, context, dtype_bytes, autocast_bytes=autocast_bytes)
        loss = logits * (3 * dtype_bytes + narrow)
        moments = 2 * weights if optimizer else 0
        temporaries = FOREACH_TEMPORARIES * weights if optimizer else 0
        again = self._layer_bytes(batch, context, dtype_bytes, autocast_bytes) if self.checkpoint else 0
        peak = max(saved + loss, max(saved, weights) + again + at_work, weights + temporaries)
        return weights + copies + moments + peak

    def _score_elements(self, batch: int, context: int) -> int:
        return batch * self.heads * context**2 if self.attention == "naive" else 0

    def _layer_bytes(self, batch: int, context: int, wide: int, autocast: int | None) -> int:
        narrow = autocast or wide
        a_token = 4 * self.d_model * wide + (6 * self.d_model + 4 * self.d_ff) * narrow
        score = narrow + (wide if autocast else 0)
        return batch * context * a_token + self._score_elements(batch, context) * score

    def _live_bytes(self, batch: int, context: int, wide: int, narrow: int) -> int:
        """The larger half of a layer without autograd: the stream, its normed value, and either both products
        and their own (SwiGLU) or queries, keys, values, both rotated, the result and scores three times."""
        stream = 2 * self.d_model * wide
        feed_forward = 3 * self.d_ff * narrow
        attention = 6 * self.d_model * narrow
        scores = 3 * self._score_elements(batch, context) * narrow
        return max(batch * context * (stream + feed_forward), batch * context * (stream + attention) + scores)


SIZES = {
    "small": TransformerConfig(d_model=768, d_ff=3072, layers=12, heads=12),
    "medium": TransformerConfig(d_model=1024, d_ff=4096, layers=24, heads=16),
    "large": TransformerConfig(d_model=1280, d_ff=5120, layers=36, heads=20),
    "xl": TransformerConfig(d_model=1600, d_ff=6400, layers=48, heads=25),
    "2.7B": TransformerConfig(d_model=2560, d_ff=10240, layers=32, heads=32),
    "10B": TransformerConfig(d_model=4608, d_ff=12288, layers=50, heads=36),
}
"""The published sizes by name, vocabulary 10,000; dataclasses.replace gives another vocabulary or context."""
