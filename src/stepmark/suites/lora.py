"""LoRA layers: forward, gradients, a whole training step, ranks, and ways to execute them.

The published benchmark had no base weight, a backward pass that did nothing and no synchronisation; what each
suite does instead stands in docs/suites.md.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import Input, randn, zeros
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.errors import Unsupported
from stepmark.records.case import Mode
from stepmark.zoo import LoRAAdapter, LoRALinear, captured, cross_entropy

SIZES = {
    "small_512x512_r8": (512, 8),
    "medium_1024x1024_r8": (1024, 8),
    "large_2048x2048_r8": (2048, 8),
    "small_512x512_r16": (512, 16),
}
"""Features in and out, and rank."""
RANKS = [4, 8, 16, 32, 64]
FEATURES = 512
RANK = 8
SCALE = 2
"""alpha over rank, in all published cases."""

forward = Suite(
    "lora_forward",
    axes={"size": [*SIZES]},
    modes=["forward", "train"],
    presets={"quick": {"size": ["small_512x512_r8"]}, "published": {}},
    about="A dense layer, a low-rank adapter alone, and both together, on 64 tokens.",
)
gradient = Suite(
    "gradient_computation",
    axes={"tokens": [32]},
    about="Forward, cross-entropy over 512 classes, and a backward pass that reaches the adapter.",
)
training = Suite(
    "full_training_step",
    axes={"tokens": [256]},
    about="Forward, loss, backward and AdamW.",
)
ranks = Suite(
    "lora_rank_scaling",
    axes={"rank": RANKS},
    modes=["forward", "train"],
    presets={"quick": {"rank": [8]}, "standard": {"rank": [4, 16, 64]}, "published": {}},
    about="What the rank costs, 1024 to 1024 features on 64 tokens.",
)
execution = Suite(
    "lazy_vs_eager_lora",
    modes=["forward"],
    presets={"quick": {"variant": ["lazy_forward_sync"]}},
    about="The adapter called as it is, and replayed from a captured graph.",
)


def _dense(features: int) -> nn.Linear:
    return nn.Linear(features, features)


def _adapter(features: int, rank: int) -> LoRAAdapter:
    return LoRAAdapter(features, features, rank=rank, alpha=float(SCALE * rank), zero_b=False)


def _lora(features: int, rank: int) -> LoRALinear:
    return LoRALinear(_dense(features), rank=rank, alpha=float(SCALE * rank), zero_b=False)


def _tokens(batch: int, length: int, features: int) -> Input:
    """As from a layer below, which wants a gradient."""
    return randn(batch, length, features, requires_grad=True)


@forward.variant(baseline=True, name="dense")
def dense_forward(c: Point) -> Step:
    """nn.Linear."""
    features, _ = SIZES[c.size]
    return Step(_dense(features), inputs=_tokens(4, 16, features))


@forward.variant(name="adapter")
def adapter_forward(c: Point) -> Step:
    """The adapter alone: what was published."""
    features, rank = SIZES[c.size]
    return Step(_adapter(features, rank), inputs=_tokens(4, 16, features))


@forward.variant(name="lora")
def lora_forward(c: Point) -> Step:
    """A frozen layer with its adapter."""
    features, rank = SIZES[c.size]
    return Step(_lora(features, rank), inputs=_tokens(4, 16, features))


@ranks.variant(baseline=True, name="dense")
def dense_rank(_c: Point) -> Step:
    """nn.Linear, which has no rank."""
    return Step(_dense(1024), inputs=_tokens(2, 32, 1024))


@ranks.variant(name="adapter")
def adapter_rank(c: Point) -> Step:
    """The adapter alone: what was published."""
    return Step(_adapter(1024, c.rank), inputs=_tokens(2, 32, 1024))


@ranks.variant(name="lora")
def lora_rank(c: Point) -> Step:
    """A frozen layer with its adapter."""
    return Step(_lora(1024, c.rank), inputs=_tokens(2, 32, 1024))


def _classified(module: nn.Module, c: Point, *, optimizer: bool) -> Step:
    """Labels are zeros, as published: every row of logits is scored for class 0."""
    return Step(
        module,
        inputs=randn(c.tokens, FEATURES),
        target=zeros(c.tokens, dtype="int64"),
        loss=cross_entropy,
        optimizer=_adamw if optimizer else None,
    )


def _adamw(parameters: list[nn.Parameter]) -> torch.optim.AdamW:
    return torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01)


@gradient.variant(baseline=True, name="dense")
def dense_gradient(c: Point) -> Step:
    """nn.Linear, all of it trained."""
    return _classified(_dense(FEATURES), c, optimizer=False)


@gradient.variant(name="adapter")
def adapter_gradient(c: Point) -> Step:
    """The adapter alone: what was published."""
    return _classified(_adapter(FEATURES, RANK), c, optimizer=False)


@gradient.variant(name="lora")
def lora_gradient(c: Point) -> Step:
    """A frozen layer with its adapter."""
    return _classified(_lora(FEATURES, RANK), c, optimizer=False)


@training.variant(baseline=True, name="dense")
def dense_training(c: Point) -> Step:
    """nn.Linear, all of it trained."""
    return _classified(_dense(FEATURES), c, optimizer=True)


@training.variant(name="adapter")
def adapter_training(c: Point) -> Step:
    """The adapter alone: what was published."""
    return _classified(_adapter(FEATURES, RANK), c, optimizer=True)


@training.variant(name="lora")
def lora_training(c: Point) -> Step:
    """A frozen layer with its adapter."""
    return _classified(_lora(FEATURES, RANK), c, optimizer=True)


@execution.variant(baseline=True)
def eager_forward(_c: Point) -> Step:
    """Called as it is."""
    return Step(_adapter(FEATURES, RANK), inputs=randn(4, 16, FEATURES))


@execution.variant(accepts=["same-work-as-baseline"])
def lazy_forward_sync(c: Point) -> Step:
    """Captured once, then replayed: the same operations."""
    if c.mode is Mode.TRAIN:
        raise Unsupported("what is replayed was captured without gradients")
    adapter = _adapter(FEATURES, RANK).to(device=c.device, dtype=c.dtype).eval()
    example: Tensor = torch.randn(4, 16, FEATURES, device=c.device, dtype=c.dtype)
    with torch.no_grad():
        replay = captured(adapter, example)
    return Step(replay, inputs=randn(4, 16, FEATURES))


@execution.variant
def compiled_forward(_c: Point) -> Step:
    """torch.compile."""
    return Step(_adapter(FEATURES, RANK), inputs=randn(4, 16, FEATURES), compile=True)
