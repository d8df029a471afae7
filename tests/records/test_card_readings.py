"""Readings of a card in packed columns: every one is there, with what was not known."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.card import SLOWED_BY, STRAIN, UNKNOWN, CardReading, pack_readings, reasons_named
from stepmark.records.sample import unpack
from tests.support.properties import steady

readings = st.lists(
    st.tuples(
        st.integers(0, 2000),
        st.builds(
            CardReading,
            megahertz=st.none() | st.integers(300, 2000),
            watts=st.none() | st.floats(0.0, 700.0),
            reasons=st.sampled_from([0, 0x04, 0x20, 0x24, 0x80]),
        ),
    ),
    max_size=24,
)


@steady
@given(readings)
def test_columns_hold_every_reading(seen: list[tuple[int, CardReading]]) -> None:
    packed = pack_readings(seen)
    if not seen:
        assert packed is None
        return
    assert packed is not None
    assert list(unpack(packed.rounds)) == [number for number, _ in seen]
    assert list(unpack(packed.clocks)) == [
        UNKNOWN if reading.megahertz is None else round(reading.megahertz) for _, reading in seen
    ]


@steady
@given(readings, st.integers(0, 3000))
def test_held_down_is_what_has_a_reason_and_a_low_clock_or_an_unknown_one(
    seen: list[tuple[int, CardReading]], low: int
) -> None:
    packed = pack_readings(seen)
    if packed is None:
        return
    clocks = [UNKNOWN if one.megahertz is None else round(one.megahertz) for _, one in seen]
    wanted = [(clock, one.reasons) for clock, (_, one) in zip(clocks, seen, strict=True) if one.reasons]
    assert list(packed.held_below(low)) == [one for one in wanted if one[0] < low]
    assert list(packed.held_below(inf)) == wanted


def test_every_reason_has_a_name_and_strain_is_some_of_them() -> None:
    assert all(reasons_named(bit) == (name,) for bit, name in SLOWED_BY.items())
    assert reasons_named(0x01) == (), "a card that rests"
    assert {bit for bit in SLOWED_BY if bit & STRAIN} == {0x04, 0x08, 0x20, 0x40, 0x80}
