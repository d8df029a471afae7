"""The rows of the published LoRA result, and which case of ours measures what each was meant to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.criterion_benchmarks import Benchmark, benchmarks
from stepmark.interchange.criterion_units import seconds
from stepmark.published.cell import PublishedCell
from stepmark.records.case import AxisValue, Mode

SIZES = ("small_512x512_r8", "medium_1024x1024_r8", "large_2048x2048_r8", "small_512x512_r16")
RANKS = (4, 8, 16, 32, 64)


class Counterpart(NamedTuple):
    """A case of ours."""

    suite: str
    variant: str
    axes: tuple[tuple[str, AxisValue], ...]
    mode: Mode
    phase: str


COUNTERPARTS = {
    **{
        f"lora_forward/forward/{size}": Counterpart(
            "lora_forward", "adapter", (("size", size),), Mode.FORWARD, "forward"
        )
        for size in SIZES
    },
    "gradient_computation/forward_backward": Counterpart(
        "gradient_computation", "adapter", (("tokens", 32),), Mode.TRAIN, "step"
    ),
    "optimizer_step/adamw_step": Counterpart(
        "optimizer", "readable", (("side", 512), ("tensors", 1)), Mode.OPS, "adamw_step"
    ),
    "full_training_step/complete_iteration": Counterpart(
        "full_training_step", "adapter", (("tokens", 256),), Mode.TRAIN, "step"
    ),
    **{
        f"layer_operations/{operation}": Counterpart(
            operation, "chain", (("shape", "4x16x1024"),), Mode.FORWARD, "forward"
        )
        for operation in ("softmax_stable", "layer_norm", "rms_norm")
    },
    **{
        f"lora_rank_scaling/forward/rank_{rank}": Counterpart(
            "lora_rank_scaling", "adapter", (("rank", rank),), Mode.FORWARD, "forward"
        )
        for rank in RANKS
    },
    **{
        f"lazy_vs_eager_lora/{way}": Counterpart("lazy_vs_eager_lora", way, (), Mode.FORWARD, "forward")
        for way in ("eager_forward", "lazy_forward_sync")
    },
}
"""By the published id."""


def cells(log: CriterionLog) -> Iterator[PublishedCell]:
    """17 rows."""
    for benchmark in benchmarks(log):
        counterpart = COUNTERPARTS[benchmark.id]
        yield PublishedCell(
            publication="lora",
            row=benchmark.id,
            suite=counterpart.suite,
            variant=counterpart.variant,
            axes=counterpart.axes,
            mode=counterpart.mode,
            seconds=((counterpart.phase, point_seconds(benchmark)),),
        )


def point_seconds(benchmark: Benchmark) -> float:
    """The time that Criterion printed in the middle."""
    found = None if benchmark.time is None else seconds(benchmark.time.point)
    assert found is not None, f"{benchmark.id} has no time"
    return found
