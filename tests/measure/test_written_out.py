"""Iterations written out: every call once, in order, between the readings it belongs to."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.written_out import written_out


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=7), st.integers(0, 5))
def test_every_phase_lies_between_its_own_readings(durations: list[int], reading: int) -> None:
    fake = FakeInstrument(reading=reading)
    ran: list[int] = []

    def phase(number: int) -> None:
        ran.append(number)
        fake.advance(durations[number])

    calls = [lambda number=number: phase(number) for number in range(len(durations))]
    whole, apart, chained = written_out(len(calls))
    begin, end = whole(calls, fake.mark)
    assert ran == list(range(len(durations)))
    assert end - begin == sum(durations) + reading
    ran.clear()
    first, *inner, last = apart(calls, fake.mark)
    assert ran == list(range(len(durations)))
    spans = [after - before for before, after in zip(inner[::2], inner[1::2], strict=True)]
    assert spans == [duration + reading for duration in durations]
    assert last - first == sum(spans) + reading * (len(durations) + 1)
    ran.clear()
    moments = chained(calls, fake.mark)
    assert ran == list(range(len(durations)))
    assert [b - a for a, b in pairwise(moments)] == [duration + reading for duration in durations]


def test_functions_are_made_once() -> None:
    assert written_out(3) is written_out(3)
