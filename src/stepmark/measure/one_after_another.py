"""Lanes that ran one after the other, as one launch."""

from __future__ import annotations

from collections.abc import Sequence

from stepmark.measure.protocol import Event, RoundBegan


def one_after_another(said: Sequence[Sequence[Event]]) -> list[Event]:
    """What the lanes said, each in its turn; a round is the rounds of that number, in the order of lanes."""
    orders: dict[int, tuple[str, ...]] = {}
    for event in (event for events in said for event in events if isinstance(event, RoundBegan)):
        orders[event.number] = (*orders.get(event.number, ()), *event.order)
    rounds = [RoundBegan(number=number, order=order) for number, order in sorted(orders.items())]
    return [*(event for events in said for event in events if not isinstance(event, RoundBegan)), *rounds]
