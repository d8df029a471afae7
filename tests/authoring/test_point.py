"""The point a variant is built at."""

from __future__ import annotations

import copy
from keyword import iskeyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.authoring.point import Point
from stepmark.authoring.suite import RESERVED
from stepmark.records.case import AxisValue, Case, Cell, Mode
from tests.support.properties import steady

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in RESERVED and not iskeyword(name)
)
values = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)


def point(**axes: AxisValue) -> Point:
    cell = Cell(suite="mine", axes=tuple(axes.items()), device="cpu", dtype="bfloat16", mode=Mode.FORWARD)
    return Point(Case(variant="dense", cell=cell), device="the device", dtype="the dtype", seed=7)


@steady
@given(st.dictionaries(names, values, max_size=4))
def test_axes_are_attributes_and_items(axes: dict[str, AxisValue]) -> None:
    at = point(**axes)
    for name, value in axes.items():
        assert getattr(at, name) == value
        assert at[name] == value


def test_device_dtype_mode_and_seed_are_there_too() -> None:
    at = point(features=512)
    assert (at.device, at.dtype, at.mode, at.seed) == ("the device", "the dtype", Mode.FORWARD, 7)


def test_a_mistyped_axis_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="no axis 'feature'; did you mean features"):
        point(features=512, tokens=64).feature  # noqa: B018


def test_an_unknown_axis_names_all() -> None:
    with pytest.raises(AttributeError, match="no axis 'zzz'; the axes are: features, tokens"):
        point(features=512, tokens=64).zzz  # noqa: B018
    with pytest.raises(AttributeError, match="the axes are: none"):
        point().zzz  # noqa: B018


def test_absence_can_be_asked_for() -> None:
    assert getattr(point(features=512), "heads", 8) == 8
    assert not hasattr(point(), "features")


def test_a_point_can_be_copied_and_shown() -> None:
    at = copy.deepcopy(point(features=512, kind="gelu"))
    assert repr(at) == "Point(features=512, kind='gelu')"
