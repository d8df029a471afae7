"""Transformer language models, forward and backward: attention, mixed precision, compilation, checkpointing.

Two workloads: the handout's (batches of 4 at a context length), and the one that the published tables really
timed (d_model sequences of 4 tokens, vocabulary 32000). Why they differ stands in docs/suites.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from stepmark.authoring.inputs import randint
from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.errors import Unsupported
from stepmark.records.case import AxisValue, Mode
from stepmark.zoo import SIZES, TransformerConfig, TransformerLM, cross_entropy

NANO = replace(SIZES["small"], d_model=128, d_ff=512, layers=2, heads=4, vocab=1000)
"""Small enough for a CPU and a minute: nobody's published size."""
MODELS: dict[str, TransformerConfig] = {"nano": NANO, **SIZES}

PLAIN: list[AxisValue] = ["naive_attention", "bfloat16", "checkpointed", "compiled"]
"""Variants beside eager that were published, or change one thing; the fast ones are for a GPU."""

suite = Suite(
    "transformer",
    axes={"size": [*MODELS], "workload": ["handout", "as_run"], "context": [128, 256, 512, 1024]},
    modes=["train", "forward"],
    presets={
        "quick": {
            "size": ["nano"],
            "workload": ["handout"],
            "context": [128],
            "variant": ["naive_attention", "bfloat16", "checkpointed"],
        },
        "standard": {
            "size": ["nano"],
            "workload": ["handout"],
            "context": [128, 512],
            "variant": PLAIN,
        },
        # A step of small takes a CPU's core 5 to 15 s: a launch of five variants 5 to 10 minutes.
        "full": {
            "size": ["nano"],
            "workload": ["handout"],
            "context": [128, 256, 512, 1024],
            "variant": PLAIN,
        },
        "published": {
            "size": ["small", "medium", "large", "xl"],
            "workload": ["as_run"],
            "context": [128],
            "variant": PLAIN,
        },
    },
    where="workload == 'handout' or context == 128",
    about="A pre-norm decoder with RoPE and SwiGLU; as_run: the published tokens, without AdamW.",
)

BATCH = 4
PUBLISHED_VOCAB = 32000
PUBLISHED_LENGTH = 4
FLOAT = 4
HALF = 2


def _config(c: Point) -> TransformerConfig:
    config = MODELS[c.size]
    if c.workload == "as_run":
        return replace(config, vocab=PUBLISHED_VOCAB, context=32)
    return replace(config, context=c.context)


def _shape(c: Point) -> tuple[int, int]:
    """Sequences and tokens of each; the published script took d_model for the number of sequences."""
    return (MODELS[c.size].d_model, PUBLISHED_LENGTH) if c.workload == "as_run" else (BATCH, c.context)


def _needs(*, autocast_bytes: int | None = None, **changes: object) -> Callable[[Point], Needs]:
    """Of the variant with these changes to its configuration."""

    def foretell(c: Point) -> Needs:
        config = replace(_config(c), **changes)  # type: ignore[arg-type]
        batch, length = _shape(c)
        trained = c.mode is Mode.TRAIN
        memory = config.memory_bytes(
            batch,
            length,
            dtype_bytes=FLOAT,
            training=trained,
            optimizer=trained and c.workload == "handout",
            autocast_bytes=autocast_bytes,
        )
        return Needs(memory=memory, flops=config.forward_flops(batch, length) * (3 if trained else 1))

    return foretell


def _step(c: Point, *, autocast: str | None = None, compiled: bool = False, **changes: object) -> Step:
    """The published formulation: torch's loss, AdamW with its defaults."""
    config = replace(_config(c), **changes)  # type: ignore[arg-type]
    batch, length = _shape(c)
    return Step(
        TransformerLM(config, device=c.device),
        inputs=randint(config.vocab, batch, length),
        target=randint(config.vocab, batch, length),
        loss=partial(cross_entropy, backend="torch"),
        optimizer=torch.optim.AdamW if c.workload == "handout" else None,
        autocast=autocast,
        compile=compiled,
    )


def _fused_step(c: Point) -> Step:
    """The fast one: fused layers, the zoo's kernels where they can run, AdamW in one kernel."""
    step = _step(c, autocast="bfloat16", fused=True)
    optimizer = partial(torch.optim.AdamW, fused=True) if step.optimizer is not None else None
    return replace(step, loss=cross_entropy, optimizer=optimizer)


@suite.variant(baseline=True, needs=_needs())
def eager(c: Point) -> Step:
    """float32, torch's fused attention."""
    return _step(c)


@suite.variant(needs=_needs(attention="naive"))
def naive_attention(c: Point) -> Step:
    """Scores, mask and softmax one after the other."""
    return _step(c, attention="naive")


@suite.variant(needs=_needs(autocast_bytes=HALF))
def bfloat16(c: Point) -> Step:
    """Under autocast to bfloat16."""
    return _step(c, autocast="bfloat16")


@suite.variant(needs=_needs(checkpoint=True))
def checkpointed(c: Point) -> Step:
    """Activations of each block computed again in the backward pass."""
    if c.mode is Mode.FORWARD:
        raise Unsupported("without a backward pass there is nothing to compute again")
    return _step(c, checkpoint=True)


@suite.variant(needs=_needs())
def compiled(c: Point) -> Step:
    """torch.compile: what the published tables timed."""
    return _step(c, compiled=True)


@suite.variant(needs=_needs(autocast_bytes=HALF, fused=True))
def fused(c: Point) -> Step:
    """bfloat16 with fused products, kernels and AdamW; as one CUDA graph with --mode graph."""
    return _fused_step(c)


@suite.variant(needs=_needs(autocast_bytes=HALF, fused=True))
def compiled_layers(c: Point) -> Step:
    """As fused, each layer compiled: one compilation for all of them."""
    step = _fused_step(c)
    model = step.module
    assert isinstance(model, TransformerLM)
    model.compile_layers()
    return step
