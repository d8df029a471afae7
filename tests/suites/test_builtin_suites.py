"""The built-in suites: every case of every preset can be foretold, and the quick ones run."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from stepmark.authoring.load import load
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step
from stepmark.errors import Unsupported
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_inputs import torch_dtype
from stepmark.measure.expand import Selection, expand, select
from stepmark.records.case import Case, Mode
from stepmark.records.source import BuiltinSource
from stepmark.suites import BUILTIN

SUITES = [name for name in BUILTIN if name != "demo"]
PRESETS = ["quick", "standard", "full", "published"]


@cache
def suites_of(name: str) -> dict[str, Suite]:
    return {suite.name: suite for suite in load(BuiltinSource(name=name))}


def cases_of(name: str, preset: str, *modes: Mode) -> tuple[Case, ...]:
    """In the suite's own modes, or in others that a user may ask for."""
    outlines = [suite.outline() for suite in suites_of(name).values()]
    return expand(select(outlines, Selection(preset=preset, modes=modes)), condition=None, device="cpu")


def quick_cases() -> list[tuple[str, Case]]:
    asked = (Mode.TRAIN, Mode.FORWARD)
    return [(name, case) for name in SUITES for case in cases_of(name, "quick", *asked)]


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.parametrize("preset", PRESETS)
def test_needs_can_be_said_at_every_point(name: str, preset: str) -> None:
    cases = cases_of(name, preset)
    assert cases
    for case in cases:
        variant = suites_of(name)[case.cell.suite].variants[case.variant]
        if variant.needs is not None:
            point = Point(case, device=torch.device("cpu"), dtype=torch_dtype(case.cell.dtype), seed=0)
            needs = variant.needs(point)
            assert needs.memory > 0


@pytest.mark.parametrize("name", SUITES)
def test_presets_grow(name: str) -> None:
    sizes = [len(cases_of(name, preset)) for preset in ("quick", "standard", "full")]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(("name", "case"), quick_cases(), ids=lambda value: getattr(value, "id", value))
def test_quick_cases_run_and_train_what_they_should(name: str, case: Case) -> None:
    variant = suites_of(name)[case.cell.suite].variants[case.variant]
    if "compiled" in case.variant:
        pytest.skip("compiling takes a compiler and a minute")
    try:
        program = bind(variant, case, seed=1)
    except Unsupported:
        return
    for _ in range(2):
        program.iterate()
    if program.inspect is None:
        assert isinstance(variant.build(_point(case)), Ops)
        return
    evidence = program.inspect()
    if case.variant in ("adapter", "lora"):
        assert 0 < evidence.trainable_parameters < 0.1 * 512 * 512, "the base is frozen"


def _point(case: Case) -> Point:
    return Point(case, device=torch.device("cpu"), dtype=torch_dtype(case.cell.dtype), seed=1)


def test_the_baseline_of_each_suite_is_a_step_or_operations() -> None:
    for name in SUITES:
        for suite in suites_of(name).values():
            baseline = next(variant for variant in suite.variants.values() if variant.baseline)
            case = next(
                case
                for case in cases_of(name, "quick")
                if case.cell.suite == suite.name and case.variant == baseline.name
            )
            assert isinstance(baseline.build(_point(case)), Step | Ops)
