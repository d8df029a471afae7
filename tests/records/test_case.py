"""Cases and cells: readable ids that tell them apart, and values that can be keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.errors import UsageError
from stepmark.records.case import (
    AxisValue,
    Cache,
    Case,
    Cell,
    Execution,
    Mode,
    caches_named,
    modes_and_executions,
)
from tests.support.properties import steady

AXES = (("features", 512), ("tokens", 64))

values = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("abcxyz_-.", max_size=6)
points = st.tuples(values, values).map(lambda pair: tuple(zip(("features", "kind"), pair, strict=True)))
cells = st.builds(
    Cell,
    suite=st.sampled_from(["mine", "yours"]),
    axes=points,
    device=st.sampled_from(["cpu", "cuda"]),
    dtype=st.sampled_from(["float32", "bfloat16"]),
    mode=st.sampled_from(Mode),
    execution=st.sampled_from(Execution),
    cache=st.sampled_from(Cache),
)
cases = st.builds(Case, variant=st.sampled_from(["dense", "thin"]), cell=cells)


def text_of(case: Case) -> tuple[object, ...]:
    """All that an id must tell apart: values as they are written."""
    cell = case.cell
    axes = tuple((name, str(value)) for name, value in cell.axes)
    return cell.suite, case.variant, axes, cell.device, cell.dtype, cell.mode, cell.execution, cell.cache


def test_ids_are_readable_and_never_change() -> None:
    """Stored runs are found by them: changing this test changes the format."""
    cell = Cell(suite="mylayer", axes=AXES, device="cuda", dtype="bfloat16", mode=Mode.FORWARD)
    assert cell.point == "features=512,tokens=64"
    assert cell.id == "mylayer[features=512,tokens=64]/cuda/bfloat16/forward"
    assert (
        Case(variant="dense", cell=cell).id == "mylayer/dense[features=512,tokens=64]/cuda/bfloat16/forward"
    )


def test_only_what_is_not_usual_is_in_an_id() -> None:
    usual = Cell(suite="s", device="cuda", execution=Execution.EAGER, cache=Cache.WARM)
    assert usual.id == "s[]/cuda/float32/train"
    graph = Cell(suite="s", device="cuda", mode=Mode.OPS, execution=Execution.GRAPH, cache=Cache.COLD)
    assert (graph.id, graph.regime) == ("s[]/cuda/float32/ops/graph/cold", ("graph", "cold"))


def test_modes_and_executions_are_named_together() -> None:
    assert modes_and_executions([]) == ((), ())
    assert modes_and_executions(["graph"]) == ((), (Execution.GRAPH,))
    assert modes_and_executions(["train", "compiled", "eager", "train"]) == (
        (Mode.TRAIN,),
        (Execution.COMPILED, Execution.EAGER),
    )
    with pytest.raises(UsageError, match="there is no mode 'fast'") as caught:
        modes_and_executions(["train", "fast"])
    assert caught.value.remedy == "the modes are: train, forward, ops, eager, graph, compiled"


def test_caches_are_named() -> None:
    assert caches_named(None) == ()
    assert caches_named("both") == (Cache.WARM, Cache.COLD)
    assert caches_named("cold") == (Cache.COLD,)
    with pytest.raises(UsageError, match="no cache regime 'tepid'"):
        caches_named("tepid")


def test_a_suite_without_axes_has_one_cell() -> None:
    assert Case(variant="only", cell=Cell(suite="plain")).id == "plain/only[]/cpu/float32/train"


@pytest.mark.parametrize(("value", "text"), [(True, "True"), (3, "3"), (0.5, "0.5"), ("gelu", "gelu")])
def test_every_kind_of_value_is_written_as_python_writes_it(value: AxisValue, text: str) -> None:
    assert Cell(suite="s", axes=(("a", value),)).point == f"a={text}"


@steady
@given(cases, cases)
def test_ids_tell_cases_apart(one: Case, other: Case) -> None:
    assert (one.id == other.id) == (text_of(one) == text_of(other))
    assert (one.cell.id == other.cell.id) == (
        text_of(one)[2:] == text_of(other)[2:] and one.cell.suite == other.cell.suite
    )


@steady
@given(cases)
def test_equal_cases_are_one_key(case: Case) -> None:
    again = Case(
        variant=case.variant, cell=Cell(**{f: getattr(case.cell, f) for f in case.cell.__struct_fields__})
    )
    assert again is not case
    assert again == case
    assert {case: 1}[again] == 1
    assert {case.cell: 1}[again.cell] == 1
