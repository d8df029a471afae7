"""Ticks: inside their bounds, in order, not too many; and the axis of ratios shows every point."""

from __future__ import annotations

import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from stepmark.report.figures.ratio_axis import ratio_axis
from stepmark.report.figures.ticks import BYTES, PERCENT, RATE, SECONDS, byte_ticks, log_ticks, ratio_ticks
from tests.report.builder import estimate
from tests.support.properties import steady


@given(low=st.floats(1e-9, 1e9), factor=st.floats(1.5, 1e9), most=st.integers(2, 9))
@steady
def test_logarithmic_ticks_are_inside_ascending_and_few(low: float, factor: float, most: int) -> None:
    ticks = log_ticks(low, low * factor, most=most)
    assert len(ticks) <= most
    assert list(ticks) == sorted(set(ticks))
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)
    assert ticks or factor < 10.0


@given(below=st.floats(0.001, 0.99), above=st.floats(1.01, 1000.0), most=st.integers(3, 7))
@steady
def test_one_is_always_a_tick_of_ratios(below: float, above: float, most: int) -> None:
    ticks = ratio_ticks(below, above, most=most)
    assert 1.0 in ticks
    assert len(ticks) <= most


@pytest.mark.parametrize(
    ("expression", "value", "label"),
    [
        *((SECONDS, 0.0, "0 s"), (SECONDS, 2e-4, "200 µs"), (SECONDS, 1e-3, "1 ms")),
        *((SECONDS, 0.0009999999, "1 ms"), (SECONDS, 5e-10, "0.5 ns"), (SECONDS, 2.5, "2.5 s")),
        *((RATE, 3e11, "300 GFLOP/s"), (RATE, 20.0, "20 FLOP/s"), (BYTES, 0.0, "0 B")),
        *((BYTES, 20480.0, "20 KiB"), (PERCENT, 0.2, "20 %"), (PERCENT, 0.0, "0 %")),
    ],
)
def test_a_number_stands_before_its_unit(expression: str, value: float, label: str) -> None:
    scale = {"domain": [0.0, 1.0 + value]}
    axis = {"labelExpr": expression, "values": [value]}
    chart = {
        "data": {"values": []},
        "mark": "point",
        "encoding": {"x": {"datum": value, "type": "quantitative", "axis": axis, "scale": scale}},
    }
    assert f">{label}<" in vl_convert.vegalite_to_svg(chart)


@given(size=st.integers(1, 2**50), most=st.integers(3, 6))
@steady
def test_ticks_of_bytes_begin_at_nothing(size: int, most: int) -> None:
    ticks = byte_ticks(float(size), most=most)
    assert ticks[0] == 0.0
    assert len(ticks) <= most
    assert all(tick <= size for tick in ticks)


ratios = st.builds(
    lambda point, width: estimate(point, point / width, point * width),
    st.floats(0.01, 100.0),
    st.floats(1.0, 50.0),
)


@given(seen=st.lists(ratios, max_size=6), margin=st.floats(0.001, 0.2))
@steady
def test_every_point_and_the_margin_are_on_the_axis(seen: list, margin: float) -> None:  # type: ignore[type-arg]
    axis = ratio_axis(seen, margin=margin, most_ticks=5)
    assert axis.low < 1.0 / (1.0 + margin) < 1.0 + margin < axis.high
    for each in seen:
        assert axis.low < each.point < axis.high
        assert axis.low <= axis.cut(each.low) <= each.point <= axis.cut(each.high) <= axis.high
