"""A launch: lanes built and warmed up in random order, then rounds of blocks in fresh random order.

What happens first gets the better memory, so everything that has a first is shuffled: build, warm-up and
every round (a fixed order measured a bias of 0.8 % on an optimizer that allocates in its first step).
The generator is the only source of order, so a seed reproduces it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from msgspec.structs import replace

from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import Lane
from stepmark.measure.protocol import Entered, Event, LaneFailed, RoundBegan
from stepmark.records.outcome import Stage
from stepmark.records.settings import Settings

Emit = Callable[[Event], object]
Act = Callable[[Lane], Sequence[Event]]


def conduct(
    lanes: Sequence[Lane], *, random: Random, settings: Settings, emit: Emit, now: Callable[[], float]
) -> None:
    """Run the whole launch; a lane that stops leaves, the others go on."""
    conductor = _Conductor(random, emit)
    alive = conductor.everyone(list(lanes), Stage.BUILD, lambda lane: lane.build())
    alive = conductor.everyone(alive, Stage.WARMUP, lambda lane: lane.warm_up())
    begin = now()
    number = 0
    while alive and _goes_on(number, now() - begin, len(alive), settings):
        alive = conductor.round(alive, number)
        number += 1


def _goes_on(rounds: int, elapsed: float, num_lanes: int, settings: Settings) -> bool:
    if rounds < settings.min_rounds:
        return True
    return rounds < settings.max_rounds and elapsed < settings.round_seconds * num_lanes


class _Conductor:
    def __init__(self, random: Random, emit: Emit) -> None:
        self._random = random
        self._emit = emit
        self._last: str | None = None
        """The variant whose block came last: its data is still in the caches."""

    def everyone(self, lanes: list[Lane], stage: Stage, act: Act) -> list[Lane]:
        """Do one thing with every lane in random order; return those that survived, in that order."""
        order = self._random.sample(lanes, len(lanes))
        return [lane for lane in order if self._survives(lane, stage, None, act)]

    def round(self, lanes: list[Lane], number: int) -> list[Lane]:
        order = self._random.sample(lanes, len(lanes))
        self._emit(RoundBegan(number=number, order=tuple(lane.variant for lane in order)))
        return [lane for lane in order if self._survives(lane, Stage.ROUNDS, number, self._block(number))]

    def _block(self, number: int) -> Act:
        def block(lane: Lane) -> Sequence[Event]:
            again = lane.variant == self._last
            self._last = lane.variant
            return lane.block(number, again=again)

        return block

    def _survives(self, lane: Lane, stage: Stage, number: int | None, act: Act) -> bool:
        self._emit(Entered(stage=stage, variant=lane.variant, round=number))
        try:
            events = act(lane)
        except LaneStopped as stopped:
            self._emit(LaneFailed(variant=lane.variant, failure=replace(stopped.failure, round=number)))
            return False
        for event in events:
            self._emit(event)
        return True
