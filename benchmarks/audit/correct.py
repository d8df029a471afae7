"""Correct benchmarks, generated: layers, shapes, optimizers, dtypes and ways to write a step, at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from torch import nn

from benchmarks.audit import layers, updates
from benchmarks.audit.operations import OPERATIONS
from benchmarks.audit.steps import STEPS
from stepmark.authoring.inputs import randn
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step, Workload

Layer = Callable[[int], nn.Module]

PLAIN: dict[str, Layer] = {
    "linear": lambda features: nn.Linear(features, features),
    "layer norm": nn.LayerNorm,
    "root mean square norm": nn.RMSNorm,
    "batch norm": layers.Transposed,
    "activation in place": lambda features: nn.Sequential(
        nn.Linear(features, features), nn.ReLU(inplace=True)
    ),
    "dropout": lambda features: nn.Sequential(nn.Linear(features, features), nn.Dropout(0.1)),
    "frozen": lambda features: nn.Linear(features, features).requires_grad_(False),
    "low rank, zero at first": layers.LowRank,
    "tied weights": layers.Tied,
    "hand-written backward": lambda _: layers.HandWritten(),
    "foreign kernel": lambda features: layers.Foreign(features, features, bias=False),
    "checkpointed": layers.Checkpointed,
    "experts": layers.Experts,
    "gate at zero": layers.Residual,
    "running mean": layers.Counting,
    "attention": layers.Attention,
    "frequencies": layers.Fourier,
    "in place inside": layers.MeanOfRows,
    "weight norm": lambda features: nn.utils.parametrizations.weight_norm(nn.Linear(features, features)),
    "spectral norm": lambda features: nn.utils.parametrizations.spectral_norm(nn.Linear(features, features)),
    "transformer": lambda features: nn.TransformerEncoderLayer(
        features, 2, 2 * features, dropout=0.0, batch_first=True
    ),
    "gelu": lambda _: nn.GELU(),
    "identity": lambda _: nn.Identity(),
}

OPTIMIZERS: dict[str, Callable[[Any], Any] | None] = {
    "none": None,
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-2),
    "momentum": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    "adam": torch.optim.Adam,
    "adamw over lists": lambda p: torch.optim.AdamW(p, foreach=True),
    "adamw fused": lambda p: torch.optim.AdamW(p, fused=True),
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "clipped": updates.Clipped,
    "warmed up": updates.WarmedUp,
}

LOSSES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "mean square": lambda: nn.functional.mse_loss,
    "huber": lambda: nn.functional.smooth_l1_loss,
    "with a temperature": updates.Tempered,
}
"""By name: what makes one."""


@st.composite
def layered(draw: st.DrawFn) -> Suite:
    """A stack of layers with any loss, optimizer, dtype and mode."""
    names = draw(st.lists(st.sampled_from(sorted(PLAIN)), min_size=1, max_size=4))
    batch, tokens = draw(st.integers(1, 4)), draw(st.integers(2, 8))
    features = 2 * draw(st.integers(2, 16))
    loss, optimizer = draw(st.sampled_from(sorted(LOSSES))), draw(st.sampled_from(sorted(OPTIMIZERS)))
    dtype = draw(st.sampled_from(["float32", "float32", "float64", "bfloat16"]))
    autocast = draw(st.sampled_from([None, None, "bfloat16"])) if dtype == "float32" else None
    mode = draw(st.sampled_from(["train", "train", "forward"]))
    wants_gradient = draw(st.booleans())
    compiled = draw(st.integers(0, 19)) == 0 and not _opaque(names)
    told = ", ".join(
        [
            f"{batch} x {tokens} x {features}",
            *names,
            *(f"loss {loss}", f"optimizer {optimizer}", dtype, f"autocast {autocast}", mode),
            "compiled" if compiled else "eager",
        ]
    )
    suite = Suite("layered", modes=[mode], dtypes=[dtype], about=told)

    def build(_: Any) -> Step:
        module = nn.Sequential(nn.Linear(features, features), *(PLAIN[name](features) for name in names))
        return Step(
            module,
            inputs=randn(batch, tokens, features, requires_grad=wants_gradient),
            loss=LOSSES[loss](),
            target=() if loss == "none" else randn(batch, tokens, features),
            optimizer=OPTIMIZERS[optimizer],
            autocast=autocast,
            compile={"backend": "aot_eager"} if compiled else False,
            reference=(lambda module, x: module(x)) if _repeats(names) and not compiled else None,
        )

    suite.variant(baseline=True, name="compiled" if compiled else "stack")(build)
    return suite


def _opaque(names: list[str]) -> bool:
    """The compiler breaks its graph at what it cannot see through, which is no mistake and no matter here."""
    return bool({"foreign kernel", "experts", "checkpointed", "spectral norm", "running mean"} & {*names})


def _repeats(names: list[str]) -> bool:
    """Whether another call gives the same numbers, and rounding cannot choose another way through."""
    return not {"dropout", "experts", "spectral norm", "batch norm"} & {*names}


def written(name: str) -> Suite:
    """A suite around one of the ways to write a step or operations."""
    build, mode = STEPS[name] if name in STEPS else (OPERATIONS[name], "ops")

    def variant(_: Any) -> Workload:
        return build()

    suite = Suite("written", modes=[mode], about=name)
    suite.variant(baseline=True, name="compiled" if "compiled" in name else "way")(variant)
    return suite


WAYS = (*STEPS, *OPERATIONS)


def benchmarks() -> st.SearchStrategy[Suite]:
    """Any of them; the ways to write a step come up as often as the stacks."""
    return st.one_of(layered(), st.sampled_from(WAYS).map(written))
