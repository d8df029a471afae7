"""Every published row has a case in the suites that measures the same thing."""

from __future__ import annotations

from functools import cache

import pytest

from stepmark.authoring.load import load
from stepmark.measure.expand import Selection, expand, select
from stepmark.records.case import Case, Mode
from stepmark.records.source import BuiltinSource


@cache
def published_cases(name: str) -> tuple[Case, ...]:
    """What `stepmark run NAME --preset published` measures."""
    outlines = [suite.outline() for suite in load(BuiltinSource(name=name))]
    return expand(select(outlines, Selection(preset="published")), condition=None, device="cpu")


def has(name: str, suite: str, variant: str, mode: Mode, **axes: object) -> bool:
    return any(
        case.variant == variant
        and case.cell.suite == suite
        and case.cell.mode is mode
        and dict(case.cell.axes) == axes
        for case in published_cases(name)
    )


@pytest.mark.parametrize("n", [2048, 4096, 8192])
@pytest.mark.parametrize("batch", [1, 8, 16])
@pytest.mark.parametrize("fragments", [2, 8, 32, 128])
def test_fragmented_linear_blocks(n: int, batch: int, fragments: int) -> None:
    """81 blocks: nine of nn.Linear, which is beside every number of fragments here, and 36 of each way."""
    point = {"n": n, "batch": batch, "fragments": fragments}
    for variant in ("linear", "fragmented", "fragmented_hard"):
        assert has("fragmented", "fragmented", variant, Mode.TRAIN, **point)
    assert has("fragmented", "fragmented", "fragmented", Mode.FORWARD, **point), "inference, really"


SHAPES = [(dim, 4) for dim in (1024, 1280, 1408, 1664, 2048, 4096, 8096)] + [(1408, 4.3637), (1664, 4.9231)]
ROWS = [2**power for power in range(10, 18)]
SWITCHBACK = [
    (dim, wm, rows, switch)
    for dim, wm in SHAPES
    for rows in ROWS
    for switch in (False, True)
    if (dim, rows) != (8096, 131072)
]


def test_switchback_has_142_rows_and_no_other() -> None:
    assert len(SWITCHBACK) == 142
    cells = {case.cell.axes for case in published_cases("switchback") if case.cell.suite == "switchback"}
    assert len(cells) == 142


@pytest.mark.parametrize(("dim", "wm", "rows", "switch"), SWITCHBACK)
def test_switchback_rows(dim: int, wm: float, rows: int, *, switch: bool) -> None:
    point = {"dim": dim, "wm": wm, "rows": rows, "switch": switch}
    for variant in ("standard", "rowwise", "global", "casts"):
        assert has("switchback", "switchback", variant, Mode.OPS, **point)


@pytest.mark.parametrize("size", ["small", "medium", "large", "xl"])
def test_transformer_rows(size: str) -> None:
    """The five tables differ in warm-up and profiling, not in the case: `stepmark warmup` makes those of 0,
    1, 2 and 5 iterations, `--with-profile-overhead` the profiled one."""
    point = {"size": size, "workload": "as_run", "context": 128}
    assert has("transformer", "transformer", "compiled", Mode.TRAIN, **point)


CRITERION: dict[str, tuple[str, str, str, Mode, dict[str, object]]] = {
    **{
        f"lora_forward/forward/{size}": ("lora", "lora_forward", "adapter", Mode.FORWARD, {"size": size})
        for size in ("small_512x512_r8", "medium_1024x1024_r8", "large_2048x2048_r8", "small_512x512_r16")
    },
    "gradient_computation/forward_backward": (
        *("lora", "gradient_computation", "adapter", Mode.TRAIN),
        {"tokens": 32},
    ),
    "optimizer_step/adamw_step": (
        *("optimizer", "optimizer", "readable", Mode.OPS),
        {"side": 512, "tensors": 1},
    ),
    "full_training_step/complete_iteration": (
        *("lora", "full_training_step", "adapter", Mode.TRAIN),
        {"tokens": 256},
    ),
    **{
        f"layer_operations/{name}": ("operations", name, "chain", Mode.FORWARD, {"shape": "4x16x1024"})
        for name in ("softmax_stable", "layer_norm", "rms_norm")
    },
    **{
        f"lora_rank_scaling/forward/rank_{rank}": (
            *("lora", "lora_rank_scaling", "adapter", Mode.FORWARD),
            {"rank": rank},
        )
        for rank in (4, 8, 16, 32, 64)
    },
    "lazy_vs_eager_lora/eager_forward": ("lora", "lazy_vs_eager_lora", "eager_forward", Mode.FORWARD, {}),
    "lazy_vs_eager_lora/lazy_forward_sync": (
        *("lora", "lazy_vs_eager_lora", "lazy_forward_sync", Mode.FORWARD),
        {},
    ),
}


def test_there_are_17_criterion_benches() -> None:
    assert len(CRITERION) == 17


@pytest.mark.parametrize("bench", CRITERION)
def test_criterion_benches(bench: str) -> None:
    name, suite, variant, mode, axes = CRITERION[bench]
    assert has(name, suite, variant, mode, **axes)
