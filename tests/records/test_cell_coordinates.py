"""Coordinates of cells: everything that can set them apart, with or without an axis."""

from __future__ import annotations

from stepmark.records.case import AxisValue, Cell, numeric_axes


def cell(**axes: AxisValue) -> Cell:
    return Cell(suite="s", axes=tuple(axes.items()))


def test_an_axis_is_taken_out_and_a_device_of_the_same_name_stays() -> None:
    there = cell(features=8, device=3)
    assert dict(there.apart_from("features")) == {**dict(there.coordinates[1:])}
    names = [name for name, _ in there.apart_from("device")]
    assert names == ["features", "device", "dtype", "mode", "execution", "cache"]


def test_cells_that_differ_in_one_axis_agree_apart_from_it() -> None:
    one, other = cell(features=8, tokens=2), cell(features=16, tokens=2)
    assert one.coordinates != other.coordinates
    assert one.apart_from("features") == other.apart_from("features")


def test_numeric_axes_have_several_numbers_and_nothing_else() -> None:
    cells = [cell(a=1, b=True, c="x", d=1.5, e=7), cell(a=2, b=False, c="y", d="big", e=7)]
    assert numeric_axes(cells) == ("a",)
