"""Modules written on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.authoring.expressions import evaluate, names_of, parse_input, suite_of_expressions
from stepmark.authoring.inputs import randint, randn
from stepmark.authoring.workload import Step
from stepmark.errors import UsageError
from stepmark.records.source import ExpressionSource
from tests.support.properties import steady

pieces = st.lists(
    st.sampled_from(["A", "A#2", "torch.nn.", "(1, 2)", " ", "[0]", "/", "#2", "#3"]), min_size=1, max_size=4
)


@steady
@given(st.lists(pieces.map("".join), min_size=1, max_size=6))
def test_names_are_unique_and_fit_in_an_id(expressions: list[str]) -> None:
    names = names_of(tuple(expressions))
    assert len(set(names)) == len(names) == len(expressions)
    assert not any(mark in name for name in names for mark in "[]/ \n")


@pytest.mark.parametrize(
    ("expressions", "names"),
    [
        (("torch.nn.Linear(8, 8)", "mylib.Fast(8)"), ["Linear(8,8)", "mylib.Fast(8)"]),
        (("A()", "A()", "A( )", "B()"), ["A()", "A()#2", "A()#3", "B()"]),
        (("A(1/2)", "A([1])"), ["A(1÷2)", "A((1))"]),
    ],
)
def test_names_are_the_expressions_shortened(expressions: tuple[str, ...], names: list[str]) -> None:
    assert names_of(expressions) == names


def test_an_expression_imports_what_it_names() -> None:
    layer = evaluate("torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())")
    assert isinstance(layer, torch.nn.Sequential)
    assert layer[0].weight.shape == (2, 3)


def test_submodules_nobody_imported_yet_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "helper_pack" / "deep"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "layer.py").write_text("class Fast:\n    def __init__(self, n): self.n = n\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert evaluate("helper_pack.deep.layer.Fast(n=4)").n == 4
    assert "helper_pack.deep.layer" in sys.modules


def test_names_of_its_own_and_builtins_stay_what_they_are() -> None:
    assert evaluate("[len(x) for x in ('a', 'bc')]") == [1, 2]
    assert evaluate("(lambda y: y + 1)(2)") == 3


def test_blanks_around_an_expression_do_not_matter() -> None:
    assert evaluate("  1 + 1\n") == 2


@pytest.mark.parametrize("text", ["torch.nn.Linear(", "x = 1", "", "import os", "a b"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a Python expression") as caught:
        evaluate(text)
    assert "torch.nn.Linear" in caught.value.remedy


def test_an_unknown_name_says_how_names_are_written() -> None:
    with pytest.raises(UsageError, match="no module 'nn' can be imported: write full names"):
        evaluate("nn.Linear(4, 4)")


def test_an_unknown_name_of_what_an_expression_calls_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helper_careless.py").write_text("def fast():\n    return nosuchname\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NameError, match="name 'nosuchname' is not defined"):
        evaluate("helper_careless.fast()")


def test_a_module_that_is_there_but_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helper_broken.py").write_text("import a_dependency_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_dependency_nobody_has"):
        evaluate("helper_broken.Fast(4)")


def test_inputs_users_write() -> None:
    assert parse_input("64x1024") == randn(64, 1024)
    assert parse_input("8:bfloat16") == randn(8, dtype="bfloat16")
    assert parse_input("64x1024:grad") == randn(64, 1024, requires_grad=True)
    assert parse_input("8:bfloat16:grad") == randn(8, dtype="bfloat16", requires_grad=True)
    assert parse_input("64x16:int64<1000") == randint(1000, 64, 16)
    assert parse_input("64:int32") == randint(2, 64, dtype="int32")
    assert parse_input("64:<10") == randint(10, 64)


@pytest.mark.parametrize("text", ["", "x", "64xy", ":int64"])
def test_an_input_without_a_shape_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shape"):
        parse_input(text)


@pytest.mark.parametrize("text", ["64:int64<many", "64:int64<0", "64:int64<-3", "64:int64<1.5"])
def test_a_bound_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no whole number after <"):
        parse_input(text)


def test_whole_numbers_want_no_gradient() -> None:
    with pytest.raises(UsageError, match="have no gradient"):
        parse_input("64x16:int64<1000:grad")


def test_one_variant_per_expression_the_first_the_baseline() -> None:
    suite = suite_of_expressions(
        ExpressionSource(
            expressions=(
                "torch.nn.Linear(4, 2)",
                "torch.nn.Linear(4, 2)",
                "torch.nn.Linear(4, 2, bias=False)",
            ),
            inputs=("3x4", "3:int64<7"),
            optimizer="torch.optim.SGD",
            loss="torch.nn.functional.mse_loss",
        )
    )
    assert [(v.name, v.baseline) for v in suite.outline().variants] == [
        ("Linear(4,2)", True),
        ("Linear(4,2)#2", False),
        ("Linear(4,2,bias=False)", False),
    ]
    steps = [variant.build(None) for variant in suite.variants.values()]
    assert all(isinstance(step, Step) for step in steps)
    first = steps[0]
    assert isinstance(first, Step)
    assert first.inputs == (randn(3, 4), randint(7, 3))
    assert (first.optimizer, first.loss) == (torch.optim.SGD, torch.nn.functional.mse_loss)


def test_every_build_makes_a_module_of_its_own() -> None:
    source = ExpressionSource(expressions=("torch.nn.Linear(4, 2)",), inputs=("3x4",))
    build = suite_of_expressions(source).variants["Linear(4,2)"].build
    one, other = build(None), build(None)
    assert isinstance(one, Step)
    assert isinstance(other, Step)
    assert one.module is not other.module
