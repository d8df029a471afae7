"""Filters: Python's own comparisons on axes, and nothing more."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.errors import UsageError
from stepmark.measure.filter import Filter
from stepmark.records.case import AxisValue, Case, Cell, Mode
from tests.support.properties import steady

AXES = ("features", "tokens", "act", "bias")


def case(variant: str = "dense", **axes: AxisValue) -> Case:
    cell = Cell(suite="mine", axes=tuple(axes.items()), device="cpu", dtype="bfloat16", mode=Mode.FORWARD)
    return Case(variant=variant, cell=cell)


def admits(text: str, one: Case) -> bool:
    return Filter(text, AXES).admits(one)


CASE = case(features=512, tokens=64, act="gelu", bias=True)

numbers = st.sampled_from(
    ["features", "tokens", "512", "64", "0", "3.5", "-1", "features // 7", "(tokens % 5)"]
)
arithmetic = st.builds("({} {} {})".format, numbers, st.sampled_from(["+", "-", "*"]), numbers) | numbers
texts = st.sampled_from(["act", "'gelu'", "'relu'", "variant", "'dense'", "dtype", "'ge'"])
signs = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])
comparisons = (
    st.builds("{} {} {}".format, arithmetic, signs, arithmetic)
    | st.builds("{} {} {} {} {}".format, numbers, signs, numbers, signs, numbers)
    | st.builds("{} {} {}".format, texts, st.sampled_from(["==", "!=", "in", "not in"]), texts)
    | st.builds("{} in ({}, {})".format, numbers, numbers, numbers)
    | st.builds("{} not in [{}]".format, numbers, numbers)
    | st.sampled_from(["bias", "not bias", "True", "features"])
)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("not ({})".format, inner)
    ),
    max_leaves=6,
)


@steady
@given(
    conditions, st.integers(1, 4096), st.integers(1, 4096), st.sampled_from(["gelu", "relu"]), st.booleans()
)
def test_a_filter_is_what_python_says(text: str, features: int, tokens: int, act: str, bias: bool) -> None:
    one = case(features=features, tokens=tokens, act=act, bias=bias)
    names = {**dict(one.cell.axes), "variant": "dense", "dtype": "bfloat16"}
    assert admits(text, one) == bool(eval(text, {}, names))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("features<2048", True),
        ("  features < 512 ", False),
        ("suite == 'mine' and mode == 'forward' and device == 'cpu' and dtype == 'bfloat16'", True),
        ("variant != 'dense'", False),
        ("variant in ('dense', 'thin')", True),
        ("'e' in act", True),
        ("100 < features <= 512", True),
        ("features / tokens == 8", True),
        ("not bias", False),
    ],
)
def test_filters_users_write(text: str, expected: bool) -> None:
    assert admits(text, CASE) is expected


@pytest.mark.parametrize(
    "text",
    [
        "print(features)",
        "features.real",
        "act.upper() == 'GELU'",
        "[x for x in act]",
        "(lambda: 1)()",
        "features if bias else tokens",
        "f'{features}'",
        "act[0] == 'g'",
        "{'a': 1}",
        "features ** 9 ** 9",
        "features << 9",
        "features is 512",
        "(features := 3)",
        "*act",
    ],
)
def test_more_than_comparisons_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Filter(text, AXES)
    assert caught.value.problem.startswith(f"filter '{text}'")
    assert "features<2048" in caught.value.remedy


@pytest.mark.parametrize(
    "text", ["", "features <", "features = 512", "features < 1; tokens", "import os", "a\0b", "(" * 500]
)
def test_what_does_not_parse_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="does not parse"):
        Filter(text, AXES)


@steady
@given(st.text(max_size=20))
def test_any_text_is_a_filter_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert Filter(text, AXES).admits(CASE) in {True, False}


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown axis 'feature'") as caught:
        Filter("feature < 3", AXES)
    assert caught.value.remedy == "did you mean features?"
    with pytest.raises(UsageError, match="unknown axis 'zzz'") as caught:
        Filter("zzz < 3", AXES)
    known = "act, bias, cache, device, dtype, execution, features, mode, suite, tokens, variant"
    assert known in caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "features < 'a'",
        "act < 3",
        "features / 0 > 1",
        "features % 0",
        "'%d' % act",
        "'%' % 1",
        "1 in features",
        "-act",
    ],
)
def test_comparing_what_cannot_be_compared_is_the_users_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be applied to mine/dense") as caught:
        admits(text, CASE)
    assert "numbers with numbers" in caught.value.remedy


def test_a_case_without_the_filters_axis_does_not_pass() -> None:
    assert not admits("features > 0", case(tokens=64))
    assert not admits("features > 0 or tokens > 0", case(tokens=64))
    assert not admits("not features", case(tokens=64))
    assert admits("variant == 'dense'", case())


def test_an_axis_that_does_not_decide_may_be_missing() -> None:
    assert admits("tokens > 0 or features > 0", case(tokens=64))
    assert not admits("suite == 'yours' and features > 0", case(tokens=64))
    assert admits("suite == 'mine' or features > 0", case(tokens=64))
