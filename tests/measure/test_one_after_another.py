"""Lanes that ran one after the other: rounds of a number are one round, nothing else changes."""

from __future__ import annotations

from stepmark.measure.one_after_another import one_after_another
from stepmark.measure.protocol import Began, BlockDone, Event, RoundBegan


def said(variant: str, rounds: int) -> list[Event]:
    events: list[Event] = [Began(pid=1, threads=1)]
    for number in range(rounds):
        events += [
            RoundBegan(number=number, order=(variant,)),
            BlockDone(variant=variant, round=number, nanoseconds=(1,)),
        ]
    return events


def test_rounds_of_one_number_are_one_round() -> None:
    merged = one_after_another([said("b", 3), said("a", 2)])
    rounds = [event for event in merged if isinstance(event, RoundBegan)]
    assert [(each.number, each.order) for each in rounds] == [(0, ("b", "a")), (1, ("b", "a")), (2, ("b",))]
    blocks = [event for event in merged if isinstance(event, BlockDone)]
    assert [(block.variant, block.round) for block in blocks] == [
        *(("b", number) for number in range(3)),
        *(("a", number) for number in range(2)),
    ]


def test_a_single_process_is_left_as_it_is() -> None:
    events = said("a", 3)
    merged = one_after_another([events])
    assert sorted(map(repr, merged)) == sorted(map(repr, events))
