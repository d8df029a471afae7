"""Inputs, values and memory: where their rules speak and where they are silent."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.degenerate_data import degenerate_data
from stepmark.audit.inputs_made_inside import input_bytes, inputs_made_inside
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.leftover_memory import leftover_memory
from stepmark.audit.mutates_inputs import mutates_inputs
from stepmark.audit.not_audited import not_audited
from stepmark.records.evidence import TensorFacts
from stepmark.records.finding import Severity
from stepmark.records.inspection import Creation, CreationKind, Degenerate, MemoryFacts, ValueKind
from stepmark.records.trial import LaneWatch
from tests.support.inspected import found, inspected, step
from tests.support.properties import steady
from tests.support.trials import TRAIN, make_lane, make_launch


def made(*sizes: int, inputs: tuple[TensorFacts, ...]) -> CaseLanes:
    created = tuple(Creation(kind=CreationKind.RANDOM, call="torch.randn", bytes=size) for size in sizes)
    changed = replace(step()[0], created=created)
    return inspected(*step(forward=changed), evidence={"inputs": inputs})


INPUT = TensorFacts(shape=(64, 512), dtype="float32", device="cpu")
"""131072 bytes."""


@steady
@given(st.lists(st.integers(65, 200_000), max_size=4))
def test_made_data_is_held_against_the_inputs(sizes: list[int]) -> None:
    assert (inputs_made_inside(made(*sizes, inputs=(INPUT,))) is not None) == (sum(sizes) >= 13107.2)
    assert (inputs_made_inside(made(*sizes, inputs=())) is not None) == (sum(sizes) >= 65536)


def test_small_inputs_do_not_make_small_data_matter() -> None:
    tiny = (replace(INPUT, shape=(2, 2)),)
    assert inputs_made_inside(made(4095, inputs=tiny)) is None
    finding = found(inputs_made_inside, made(4096, inputs=tiny))
    assert finding.severity is Severity.WARNING
    assert "forward makes 4 KiB of data by torch.randn (random) (the inputs have 16 bytes)" in finding.message


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 4), ("bfloat16", 2), ("float8_e4m3fn", 1), ("bool", 1), ("int64", 8), ("complex64", 8)],
)
def test_bytes_of_a_dtype(dtype: str, size: int) -> None:
    assert input_bytes([TensorFacts(shape=(3, 5), dtype=dtype, device="cpu")]) == 15 * size


def valued(kind: ValueKind, name: str = "input 0", **facts: Any) -> CaseLanes:
    return inspected(*step(), degenerate=(Degenerate(kind=kind, name=name, **{"elements": 1000, **facts}),))


@pytest.mark.parametrize("kind", ValueKind)
def test_nan_is_an_error_anywhere(kind: ValueKind) -> None:
    finding = found(degenerate_data, valued(kind, nan=3))
    assert finding.severity is Severity.ERROR
    assert "has 3 NaN in 1000" in finding.message


@pytest.mark.parametrize(
    ("kind", "facts", "severity"),
    [
        (ValueKind.OUTPUT, {"infinite": 1}, Severity.WARNING),
        (ValueKind.GRADIENT, {"infinite": 1}, Severity.WARNING),
        (ValueKind.INPUT, {"zero": True, "constant": True}, Severity.WARNING),
        (ValueKind.INPUT, {"constant": True}, Severity.WARNING),
        (ValueKind.INPUT, {"denormal": 10}, Severity.WARNING),
        (ValueKind.WEIGHT, {"zero": True, "dimensions": 2}, Severity.NOTE),
        (ValueKind.GRADIENT, {"zero": True}, Severity.NOTE),
        (ValueKind.INPUT, {"infinite": 5}, None),
        (ValueKind.INPUT, {"constant": True, "elements": 1}, None),
        (ValueKind.INPUT, {"denormal": 9}, None),
        (ValueKind.WEIGHT, {"zero": True, "dimensions": 1}, None),
        (ValueKind.WEIGHT, {"constant": True, "dimensions": 2}, None),
        (ValueKind.OUTPUT, {"zero": True, "constant": True}, None),
    ],
)
def test_other_values(kind: ValueKind, facts: dict[str, Any], severity: Severity | None) -> None:
    finding = degenerate_data(valued(kind, **facts))
    assert (finding.severity if finding else None) is severity


def test_denormal_numbers_slow_no_accelerator() -> None:
    case = valued(ValueKind.WEIGHT, "weight", denormal=500)
    assert found(degenerate_data, case).severity is Severity.WARNING
    cell = replace(case.case.cell, device="cuda")
    on_cuda = CaseLanes(
        run=case.run, case=replace(case.case, cell=cell), id=case.id, solo=case.solo, lanes=case.lanes
    )
    assert degenerate_data(on_cuda) is None


def test_the_gravest_is_told() -> None:
    tensors = (
        Degenerate(kind=ValueKind.GRADIENT, name="weight", elements=4, zero=True),
        Degenerate(kind=ValueKind.INPUT, name="input 1", elements=4, constant=True),
    )
    finding = found(degenerate_data, inspected(*step(), degenerate=tensors))
    assert finding.message == "input 1 is the same everywhere"
    assert found(degenerate_data, inspected(*step(), degenerate=tensors[:1])).message.startswith(
        "gradient weight"
    )


MIB = 1 << 20


@steady
@given(st.integers(0, 8 * MIB), st.integers(0, 8 * MIB), st.integers(0, 64 * MIB))
def test_leftover_memory(before: int, foreign: int, own: int) -> None:
    finding = leftover_memory(
        inspected(*step(), memory=MemoryFacts(before_build=before, foreign=foreign, own=own))
    )
    expected = (before >= MIB and before >= 0.1 * own) or (foreign >= MIB and foreign >= 0.25 * own)
    assert (finding is not None) == expected
    if finding is not None:
        assert finding.severity is Severity.WARNING


def test_leftover_memory_says_sizes() -> None:
    case = inspected(*step(), memory=MemoryFacts(before_build=3 * MIB, own=4 * MIB))
    message = found(leftover_memory, case).message
    assert message == "3 MiB of tensors were alive before the case was built; its own have 4 MiB"


def test_mutates_inputs() -> None:
    case = inspected(*step(), mutated_inputs=("input 0",), mutated_weights=("weight", "a", "b"))
    finding = found(mutates_inputs, case)
    assert finding.severity is Severity.WARNING
    assert finding.message == "a forward pass wrote input 0, weight, a and 1 more"
    assert mutates_inputs(inspected(*step())) is None


def test_an_inspection_that_broke_off_is_a_note() -> None:
    finding = found(not_audited, inspected(problem="RuntimeError: it\n  broke"))
    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("RuntimeError: it broke")
    assert not_audited(inspected(*step())) is None


def ran(*looks: tuple[tuple[str, ...], int | None], **facts: Any) -> CaseLanes:
    """A case launched once for each look at its weights: which were not finite, after how many rounds."""
    case = inspected(*step(), **facts)
    blocks = {phase: np.ones(3) for phase in TRAIN.phases}
    lanes = []
    for number, (names, first) in enumerate(looks):
        watch = LaneWatch(not_finite=names, first_not_finite=first)
        lane = replace(make_lane(case.case.variant, blocks, layout=TRAIN), watch=watch)
        lanes.append((make_launch(case.case.cell, [lane], number=number), lane))
    return dataclasses.replace(case, lanes=tuple(lanes))


def test_weights_that_ran_away_in_launches_are_an_error() -> None:
    finding = found(degenerate_data, ran((("weight", "bias"), 40), ((), None), (("weight",), 25)))
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "not finite in 2 of 3 launches, seen after 25 rounds at the earliest: weight weight, weight bias"
    )
    assert dict(finding.numbers) == {"launches": 2.0, "rounds": 25.0}
    assert degenerate_data(ran(((), None), ((), None))) is None


def test_what_the_solo_pass_saw_is_told_first_where_it_is_as_grave() -> None:
    nan = Degenerate(kind=ValueKind.WEIGHT, name="weight", elements=4, nan=4)
    constant = Degenerate(kind=ValueKind.INPUT, name="input 0", elements=4, constant=True)
    away = (("weight",), 3)
    assert "4 NaN in 4" in found(degenerate_data, ran(away, degenerate=(nan,))).message
    assert "not finite in 1 of 1 launch" in found(degenerate_data, ran(away, degenerate=(constant,))).message
