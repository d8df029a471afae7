"""A launch: lanes built and warmed up in random order, then rounds of blocks in fresh random order.

What happens first gets the better memory, so everything that has a first is shuffled: build, warm-up and
every round (a fixed order measured a bias of 0.8 % on an optimizer that allocates in its first step).
The generator is the only source of order, so a seed reproduces it.

A block of a short step comes after an unclocked iteration, the lead-in: the neighbours' blocks have pushed
the lane's data out of the nearest caches, and what is to be repeated would begin cold; so would it after the
lane's own block, since what happens between blocks has pushed out the interpreter's. All lanes of a launch
have a lead-in or none has, or one would be timed warm and its neighbour cold. None has where every block is a
single long iteration: it would double the time between two blocks that are to cancel what they share (`python
-m benchmarks.lead_in`). Of lanes that run one after another, each alone, none knows the others' blocks, and
no two blocks are to cancel anything: all have one. A device with a queue has a rule of its own (lane.py).

Where a lane's memory happens to lie makes it faster or slower for as long as it lives, often by more than all
its rounds are uncertain. So the lanes are built anew now and then, elsewhere in memory, where building is
cheap (`python -m benchmarks.renewals`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from random import Random

from msgspec.structs import replace

from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import Lane
from stepmark.measure.protocol import Entered, Event, LaneFailed, Paced, RenewalBegan, RoundBegan, Warmed
from stepmark.records.outcome import Stage
from stepmark.records.settings import Isolation, Settings

Emit = Callable[[Event], object]
Act = Callable[[Lane], Sequence[Event]]
Pace = Callable[[], Paced]
"""Reads how fast the device runs; called while it is warm, outside every clock."""

WORTH = 5.0
"""Seconds of rounds that a second of building anew must buy."""


def conduct(
    lanes: Sequence[Lane],
    *,
    random: Random,
    settings: Settings,
    emit: Emit,
    now: Callable[[], float],
    pace: Pace | None = None,
) -> None:
    """Run the whole launch; a lane that stops leaves, the others go on. Raises where they cannot."""
    conductor = _Conductor(random, emit, lead_in=settings.isolation is Isolation.ALONE)
    begin = now()
    alive = conductor.everyone(list(lanes), Stage.BUILD, lambda lane: lane.build())
    alive = conductor.everyone(alive, Stage.WARMUP, lambda lane: lane.warm_up())
    price = now() - begin - settings.warmup_seconds * len(lanes)
    if pace is not None:
        emit(pace())
    number, sampled, begin = 0, 0.0, now()
    stretch = _stretch(sampled, price, len(alive), settings)
    while alive and _goes_on(number, sampled + now() - begin, len(alive), settings):
        if now() - begin >= stretch:
            end = now()
            sampled += end - begin
            alive = conductor.renew(alive, number)
            begin = now()
            stretch = _stretch(sampled, begin - end, len(alive), settings)
        alive = conductor.round(alive, number)
        number += 1
    if pace is not None:
        emit(pace())
    conductor.end(alive, number)


def _goes_on(rounds: int, sampled: float, num_lanes: int, settings: Settings) -> bool:
    if rounds < settings.min_rounds:
        return True
    return rounds < settings.max_rounds and sampled < settings.round_seconds * num_lanes


def _stretch(sampled: float, price: float, num_lanes: int, settings: Settings) -> float:
    """Seconds of rounds before the lanes are built anew, which cost `price` the last time; all that is left
    where it would not be worth it. What is left is cut into equal stretches, so that none is too short."""
    left = settings.round_seconds * num_lanes - sampled
    least = max(settings.instance_seconds * num_lanes, WORTH * price)
    num_stretches = int(left / least) if least > 0.0 else 1
    return left / num_stretches if num_stretches > 1 else inf


class _Conductor:
    def __init__(self, random: Random, emit: Emit, *, lead_in: bool) -> None:
        self._random = random
        self._emit = emit
        self._lead_in = lead_in

    def everyone(self, lanes: list[Lane], stage: Stage, act: Act) -> list[Lane]:
        """Do one thing with every lane in random order; return those that survived, in that order."""
        order = self._random.sample(lanes, len(lanes))
        return [lane for lane in order if self._survives(lane, stage, None, act)]

    def round(self, lanes: list[Lane], number: int) -> list[Lane]:
        order = self._random.sample(lanes, len(lanes))
        self._emit(RoundBegan(number=number, order=tuple(lane.variant for lane in order)))
        return [lane for lane in order if self._survives(lane, Stage.ROUNDS, number, self._block(number))]

    def renew(self, lanes: list[Lane], number: int) -> list[Lane]:
        order = self._random.sample(lanes, len(lanes))
        self._emit(RenewalBegan(number=number, order=tuple(lane.variant for lane in order)))
        act: Act = lambda lane: lane.renew(number)  # noqa: E731
        return [lane for lane in order if self._survives(lane, Stage.BUILD, number, act)]

    def end(self, lanes: list[Lane], number: int) -> None:
        """A last look at every lane; what it finds is said, and nothing else."""
        for lane in lanes:
            self._survives(lane, Stage.ROUNDS, number, lambda lane: lane.end(number))

    def _block(self, number: int) -> Act:
        return lambda lane: lane.block(number, lead_in=self._lead_in)

    def _survives(self, lane: Lane, stage: Stage, number: int | None, act: Act) -> bool:
        self._emit(Entered(stage=stage, variant=lane.variant, round=number))
        try:
            events = act(lane)
        except LaneStopped as stopped:
            self._emit(LaneFailed(variant=lane.variant, failure=replace(stopped.failure, round=number)))
            if stopped.ends_process:
                raise
            return False
        for event in events:
            self._lead_in = self._lead_in or (isinstance(event, Warmed) and max(event.iterations) > 1)
            self._emit(event)
        return True
