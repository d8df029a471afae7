"""Inputs described: shapes and fills, checked when they are written down."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.authoring.inputs import Input, ones, rand, randint, randn, zeros
from tests.support.properties import steady

shapes = st.lists(st.integers(0, 4096), max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("make", "fill"), [(randn, "normal"), (rand, "uniform"), (zeros, "zeros"), (ones, "ones")]
)
@steady
@given(shapes, st.none() | st.just("float64"), st.booleans())
def test_each_function_says_its_fill(
    make: Callable[..., Input], fill: Any, shape: tuple[int, ...], dtype: str | None, requires_grad: bool
) -> None:
    described = make(*shape, dtype=dtype, requires_grad=requires_grad)
    assert described == Input(fill=fill, shape=shape, dtype=dtype, requires_grad=requires_grad)


@steady
@given(shapes, st.integers(-100, 100), st.integers(1, 100))
def test_whole_numbers_have_a_range(shape: tuple[int, ...], low: int, span: int) -> None:
    described = randint(low + span, *shape, low=low)
    assert (described.fill, described.shape, described.dtype) == ("integers", shape, "int64")
    assert (described.low, described.high) == (low, low + span)


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (1.5,), ("64",), ((64, 1024),), (None,)])
def test_sizes_are_whole_numbers(shape: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="whole numbers of at least 0"):
        randn(*shape)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (5, 5), (5, 2)])
def test_an_empty_range_is_refused(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="the range is empty"):
        randint(high, 4, low=low)


def test_descriptions_are_values() -> None:
    assert randn(2, 3) == randn(2, 3)
    assert len({randn(2, 3), randn(2, 3), rand(2, 3)}) == 2
    with pytest.raises(AttributeError):
        randn(2, 3).shape = (4,)  # type: ignore[misc]


def test_writing_a_bench_file_imports_no_torch() -> None:
    """`stepmark list` reads outlines of user files and must not take two seconds for it."""
    code = (
        "import stepmark, sys; stepmark.Suite, stepmark.Step, stepmark.Ops, stepmark.randn, stepmark.Point;"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
