"""Judgements and recordings that figures are tested with, and what must be true of every figure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import altair as alt
from jsonschema import Draft7Validator
from msgspec.structs import replace

from stepmark.records.ceilings import Ceilings, MatrixRate
from stepmark.records.limit import Limit
from stepmark.records.memory import MemoryUse, PhaseMemory
from stepmark.records.outcome import Cause, Outcome, Stage
from stepmark.records.run import Judgement
from stepmark.report.figures.figure import Figure
from tests.report.builder import Compared, Lane, cells, failure, make_judgement, outline
from tests.report.shorthand import CROSSES, EQUIVALENT, FAILED, FASTER, INCONCLUSIVE, INVALID, SLOWER, train

HOSTILE = "<img src=x onerror=alert(1)>'\"];datum.x\n\x07"
SCHEMA = Draft7Validator(alt.load_schema())
"""Of Vega-Lite, applied once; `alt.Chart.from_dict` applies it at every level of a specification again."""
EXPRESSIONS = ("filter", "calculate", "labelExpr", "expr", "test")
CEILINGS = Ceilings(
    device="cpu",
    threads=1,
    torch="2.13.0",
    host="bench",
    measured=1.8e9,
    copy_memory=1.2e10,
    copy_cache=9e10,
    matrix=(
        MatrixRate(dtype="float32", flops_per_second=1.5e11, size=1024),
        MatrixRate(dtype="bfloat16", flops_per_second=1.55e11, size=1024),
    ),
)


def with_costs(judgement: Judgement) -> Judgement:
    """The same with ceilings, and with memory and limits of every case that was measured."""
    cases = []
    for place, case in enumerate(judgement.cases):
        use = MemoryUse(
            own=3000 + 7 * place,
            optimizer_state=1000,
            parameter_bytes=1500,
            phases=(
                PhaseMemory(phase="forward", peak=400 + place, reserved=0, saved=300),
                PhaseMemory(phase="backward", peak=900, reserved=0, saved=0),
            ),
        )
        reached = Limit(
            flops_per_second=1e9 * (1 + place % 7),
            bytes_per_second=None if place % 11 == 5 else 1e9,
            work_share=0.1,
            memory_share=0.05,
        )
        cases.append(replace(case, memory=use, limit=reached) if case.primary else case)
    return replace(judgement, run=replace(judgement.run, ceilings=CEILINGS), cases=tuple(cases))


def hostile() -> Judgement:
    """Every name that a user gives is an attack; every verdict and a failure occur."""
    axes = {HOSTILE: (64, 256, 1024)}
    kinds = (FASTER, INCONCLUSIVE, SLOWER)
    lanes = {}
    for cell, kind in zip(cells(HOSTILE, axes), kinds, strict=True):
        ratio = {FASTER: 0.8, INCONCLUSIVE: 1.0, SLOWER: 1.3}[kind]
        broken = failure(Outcome.CRASHED, Cause.SIGNAL, Stage.STEP, HOSTILE)
        lanes[cell] = {
            "base" + HOSTILE: Lane(times=train(1.0, forward=0.3, backward=0.5, optimizer=0.1)),
            "mine" + HOSTILE: Lane(
                times=train(ratio, forward=0.3, backward=0.5, optimizer=0.1),
                verdict=Compared(kind=kind, ratio=(ratio, ratio - 0.02, ratio + 0.02), reasons=CROSSES),
                by_phase={"forward": Compared(kind=EQUIVALENT, ratio=(1.0, 0.999, 1.001))},
            ),
            "wrong" + HOSTILE: Lane(
                times=train(0.1, forward=0.05, backward=0.03, optimizer=0.01),
                verdict=Compared(kind=INVALID, ratio=(0.1, 0.09, 0.11)),
            ),
            "crash" + HOSTILE: Lane(failure=broken, verdict=FAILED),
            "later" + HOSTILE: Lane(reached=False),
        }
    names = [name + HOSTILE for name in ("base", "mine", "wrong", "crash", "later")]
    return with_costs(make_judgement([(outline(HOSTILE, names, axes), lanes)]))


def half_reached() -> Judgement:
    """Two suites, of which one was never reached."""
    axes = {"features": (64, 128)}
    measured = {
        "dense": Lane(times=train(1.0, forward=0.3, backward=0.5)),
        "mine": Lane(times=train(1.3, forward=0.4, backward=0.6)),
    }
    lanes = {"reached": measured, "never": dict.fromkeys(measured, Lane(reached=False))}
    suites = [
        (outline(name, tuple(measured), axes), dict.fromkeys(cells(name, axes), each))
        for name, each in lanes.items()
    ]
    return with_costs(make_judgement(suites))


def large(num_cells: int = 100) -> Judgement:
    """Two cases a cell, over two axes."""
    axes = {
        "features": tuple(64 * (1 + n) for n in range(num_cells // 10)),
        "tokens": tuple(2**n for n in range(10)),
    }
    lanes = {}
    for place, cell in enumerate(cells("large", axes)):
        ratio = 0.7 + 0.006 * place
        kind = FASTER if ratio < 0.95 else SLOWER if ratio > 1.05 else INCONCLUSIVE
        time = 0.1 * 1.1**place
        lanes[cell] = {
            "dense": Lane(times=train(time, forward=time * 0.3, backward=time * 0.6)),
            "mine": Lane(
                times=train(time * ratio, forward=time * 0.2, backward=time * 0.6),
                verdict=Compared(kind=kind, ratio=(ratio, ratio - 0.02, ratio + 0.02)),
            ),
        }
    return with_costs(make_judgement([(outline("large", ("dense", "mine"), axes), lanes)]))


def strings(part: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a specification with the key that it stands under; data are left out."""
    if isinstance(part, dict):
        for name, each in part.items():
            if name != "datasets":
                yield from strings(each, name)
    elif isinstance(part, list):
        for each in part:
            yield from strings(each, key)
    elif isinstance(part, str):
        yield key, part


def valid(spec: dict[str, Any]) -> bool:
    """By Vega-Lite's schema, of which one row of a dataset stands for all: of rows it asks that they are all
    objects, and nothing of what is in them, but looks at every value to find that out."""
    datasets = spec.get("datasets", {})
    objects = all(isinstance(row, dict) for rows in datasets.values() for row in rows)
    return objects and SCHEMA.is_valid(
        {**spec, "datasets": {name: rows[:1] for name, rows in datasets.items()}}
    )


def check(figure: Figure) -> None:
    """What must be true of every figure."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", figure.name)
    assert figure.title.isprintable()
    assert figure.alt.replace("\u00a0", " ").isprintable()
    assert figure.alt.endswith(".")
    assert len(figure.reading) > 200
    narrow = figure.narrowed()
    for spec in (figure.spec, narrow) if narrow != figure.spec else (narrow,):
        assert valid(spec)
        json.dumps(spec, allow_nan=False)
        for key, text in strings(spec):
            assert "http" not in text or key == "$schema"
            assert not (key in EXPRESSIONS and ("img" in text or "onerror" in text)), text
