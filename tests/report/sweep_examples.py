"""Judgements of many cells."""

from __future__ import annotations

from stepmark.audit import MEANINGS
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.outcome import Cause, Outcome, Stage
from stepmark.records.run import Judgement
from tests.report.builder import Compared, Lane, cells, failure, make_judgement, outline
from tests.report.shorthand import CROSSES, FAILED, FASTER, INCONCLUSIVE, SLOWER, train


def sweep() -> Judgement:
    """Forty cells: from microseconds to seconds, with every verdict and a variant that does not fit."""
    axes = {
        "features": (256, 512, 1024, 2048, 4096),
        "tokens": (16, 64, 256, 1024, 4096, 8192, 16384, 32768),
        "bias": (True,),
    }
    lanes: dict[Cell, dict[str, Lane]] = {}
    for place, cell in enumerate(cells("mylayer", axes)):
        point = dict(cell.axes)
        time = 2e-9 * int(point["features"]) * int(point["tokens"]) ** 0.75
        ratio = 1.25 - 0.014 * place
        verdict = Compared(
            kind=SLOWER if ratio > 1.03 else FASTER if ratio < 0.98 else INCONCLUSIVE,
            ratio=(ratio, ratio - 0.012, ratio + 0.013),
            reasons=CROSSES if 0.98 <= ratio <= 1.03 else (),
        )
        fits = int(point["features"]) < 4096 or int(point["tokens"]) < 16384
        lanes[cell] = {
            "dense": Lane(times=train(time * 1e3, forward=time * 300, backward=time * 600), half=0.009),
            "mine": Lane(
                times=train(time * ratio * 1e3, forward=time * 300, backward=time * 500),
                half=0.012,
                verdict=verdict,
            )
            if fits
            else Lane(
                failure=failure(
                    Outcome.OUT_OF_MEMORY,
                    Cause.MEMORY,
                    Stage.BUILD,
                    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes",
                ),
                verdict=FAILED,
            ),
        }
    chosen = list(lanes)
    findings = [
        Finding(
            name=FindingName.NEVER_SETTLED,
            severity=Severity.WARNING,
            case=Case(variant="mine", cell=cell).id,
            message=f"block medians still fell by {place + 2}.1 % when warm-up ended after 5 s",
            remedy="give warm-up more time, or look for a cache that keeps growing",
            meaning=MEANINGS[FindingName.NEVER_SETTLED],
        )
        for place, cell in enumerate(chosen[3:8])
    ]
    return make_judgement([(outline("mylayer", ("dense", "mine"), axes), lanes)], findings=findings)


def wide_sweep() -> Judgement:
    """More axes than fit beside the numbers, and more than one dtype and mode."""
    axes = {
        "hidden_features": (1024, 4096),
        "sequence_length": (512,),
        "attention_heads": (8, 16),
        "causal": (True, False),
    }
    lanes: dict[Cell, dict[str, Lane]] = {}
    for dtype, mode in (("float32", Mode.TRAIN), ("bfloat16", Mode.FORWARD)):
        for cell in cells("attention", axes, dtype=dtype, mode=mode):
            lanes[cell] = {
                "reference": Lane(times={"step": 31.2e-3}),
                "flash": Lane(
                    times={"step": 11.7e-3}, verdict=Compared(kind=FASTER, ratio=(0.375, 0.371, 0.379))
                ),
            }
    return make_judgement([(outline("attention", ("reference", "flash"), axes), lanes)])
