"""Judgements without trouble: a suite, inference, named operations, odd names."""

from __future__ import annotations

from stepmark.records.case import Mode
from stepmark.records.run import Judgement
from tests.report.builder import Compared, Lane, cells, make_judgement, outline
from tests.report.shorthand import CROSSES, EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER, train


def normal() -> Judgement:
    """Two cells, three variants, one of each common verdict."""
    axes = {"features": (512, 2048), "tokens": (64,)}
    small, large = cells("mylayer", axes)
    lanes = {
        small: {
            "dense": Lane(
                times=train(0.4127, forward=0.1043, loss=0.0121, backward=0.2014, optimizer=0.0902),
                half=0.012,
                parameters=262_656,
            ),
            "low_rank": Lane(
                times=train(0.3302, forward=0.0711, loss=0.0122, backward=0.1523, optimizer=0.0901),
                half=0.011,
                parameters=66_048,
                verdict=Compared(kind=FASTER, ratio=(0.8001, 0.7921, 0.8082)),
                by_phase={
                    "forward": Compared(kind=FASTER, ratio=(0.6817, 0.6702, 0.6934)),
                    "loss": Compared(kind=INCONCLUSIVE, ratio=(1.004, 0.981, 1.028), reasons=CROSSES),
                    "backward": Compared(kind=FASTER, ratio=(0.7562, 0.7463, 0.7663)),
                    "optimizer": Compared(kind=EQUIVALENT, ratio=(0.9991, 0.9942, 1.0041)),
                },
            ),
            "fused": Lane(
                times=train(0.4119, forward=0.1038, loss=0.0121, backward=0.2011, optimizer=0.0903),
                half=0.021,
                parameters=262_656,
                verdict=Compared(kind=EQUIVALENT, ratio=(0.9982, 0.9931, 1.0033)),
                by_phase={"forward": Compared(kind=EQUIVALENT, ratio=(0.995, 0.991, 0.999))},
            ),
        },
        large: {
            "dense": Lane(
                times=train(5.902, forward=1.401, loss=0.031, backward=3.012, optimizer=1.402),
                half=0.008,
                parameters=4_196_352,
            ),
            "low_rank": Lane(
                times=train(6.611, forward=1.702, loss=0.031, backward=3.411, optimizer=1.411),
                half=0.009,
                parameters=1_051_648,
                verdict=Compared(kind=SLOWER, ratio=(1.1201, 1.1092, 1.1311)),
                by_phase={
                    "forward": Compared(kind=SLOWER, ratio=(1.2148, 1.201, 1.229)),
                    "backward": Compared(kind=SLOWER, ratio=(1.1325, 1.12, 1.145)),
                },
            ),
            "fused": Lane(
                times=train(5.87, forward=1.39, loss=0.031, backward=3.0, optimizer=1.4),
                half=0.034,
                parameters=4_196_352,
                verdict=Compared(kind=INCONCLUSIVE, ratio=(0.9946, 0.9673, 1.0227), reasons=CROSSES),
            ),
        },
    }
    return make_judgement([(outline("mylayer", ("dense", "low_rank", "fused"), axes), lanes)])


def forward_only() -> Judgement:
    """Inference: a single phase, and names as `versus` makes them."""
    axes = {"input": ("64x1024",)}
    (cell,) = cells("versus", axes, mode=Mode.FORWARD)
    lanes = {
        "torch.nn.Linear(1024,1024)": Lane(times={"forward": 612.3e-6}, half=0.006, parameters=1_049_600),
        "torch.nn.Linear(1024,1024,bias=False)": Lane(
            times={"forward": 598.1e-6},
            half=0.007,
            parameters=1_048_576,
            verdict=Compared(kind=FASTER, ratio=(0.9768, 0.9711, 0.9826)),
        ),
    }
    return make_judgement([(outline("versus", tuple(lanes), axes), {cell: lanes})])


def ops() -> Judgement:
    """Named operations with two totals: totals first, operations as a list."""
    axes = {"dim": (4096,), "rows": (16384,)}
    (cell,) = cells("switchback", axes, mode=Mode.OPS, device="cuda", dtype="float16")
    standard = {
        "layer": 6.912,
        "matmuls": 6.912,
        "standard_fwd": 2.281,
        "standard_gx": 2.302,
        "standard_gw": 2.329,
    }
    rowwise = {
        "layer": 5.0262,
        "matmuls": 4.6482,
        "rowwise_fwd": 1.151,
        "rowwise_bwd": 1.168,
        "standard_gw": 2.3292,
        "x_quantize_rowwise": 0.082,
        "g_quantize_rowwise": 0.141,
        "w_quantize_rowwise": 0.0311,
        "w_quantize_colwise_transpose": 0.1239,
    }
    lanes = {
        "standard": Lane(times={name: ms * 1e-3 for name, ms in standard.items()}, half=0.004),
        "rowwise": Lane(
            times={name: ms * 1e-3 for name, ms in rowwise.items()},
            half=0.006,
            verdict=Compared(kind=FASTER, ratio=(0.7272, 0.7231, 0.7313)),
            by_phase={
                "matmuls": Compared(kind=FASTER, ratio=(0.6725, 0.6689, 0.6761)),
                "standard_gw": Compared(kind=EQUIVALENT, ratio=(1.0001, 0.9971, 1.0031)),
            },
        ),
    }
    return make_judgement(
        [(outline("switchback", tuple(lanes), axes), {cell: lanes})], devices=("NVIDIA H200",)
    )


def names() -> Judgement:
    """Unicode, pipes and very long names."""
    axes = {"größe": ("klein|fein",)}
    (cell,) = cells("übung", axes)
    long = "a_very_long_variant_name_that_somebody_generated_from_a_configuration_file_with_32_options"
    win = Compared(kind=INCONCLUSIVE, ratio=(12.31, 9.87, 15.32), reasons=CROSSES)
    lanes = {
        "基準": Lane(times=train(0.41, forward=0.1, backward=0.3)),
        "naïve|pipe*star": Lane(times=train(0.39, forward=0.08, backward=0.3), verdict=win),
        long: Lane(times=train(5.05, forward=1.01, backward=4.01), half=0.2, verdict=win),
    }
    return make_judgement([(outline("übung", tuple(lanes), axes), {cell: lanes})])
