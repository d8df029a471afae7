"""Lanes in scripted time: what tests of lanes, launches and assembly share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from random import Random

from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import Bind, HostedLane
from stepmark.measure.launch import conduct
from stepmark.measure.protocol import BlockDone, Built, Event, Spoiled, Warmed
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.sample import Layout, pack
from stepmark.records.settings import Settings
from stepmark.records.trial import Warmup

MS = 1_000_000
"""Nanoseconds."""

QUICK = Settings(
    block_seconds=0.004,
    warmup_seconds=0.02,
    warmup_cap=0.2,
    round_seconds=0.1,
    instance_seconds=10.0,
    min_rounds=2,
    max_rounds=10,
)
"""Lanes are never built anew unless a test asks for it."""


def then(*durations: int) -> Callable[[], int]:
    """One duration per call, the last for ever."""
    each = chain(durations, repeat(durations[-1]))
    return lambda: next(each)


def hosted(
    instrument: FakeInstrument, bind: Bind, settings: Settings = QUICK, *, variant: str = "mine"
) -> HostedLane:
    """A lane whose every clock is the instrument's."""
    return HostedLane(variant, bind, instrument, settings, now=instrument.now)


LAYOUT = Layout(phases=("step", "forward"), primary="step", whole="step")
BROKE = Failure(
    outcome=Outcome.CRASHED, cause=Cause.EXCEPTION, stage=Stage.ROUNDS, message="ValueError: scripted"
)


@dataclass
class ScriptedLane:
    """A lane that only says what it did, and takes scripted nanoseconds for a block."""

    variant: str
    instrument: FakeInstrument = field(default_factory=FakeInstrument)
    block_time: int = 10 * MS
    iterations: tuple[int, int] = (1, 1)
    renewal_time: int = MS
    fails_at: tuple[Stage, int | None] | None = None
    """The stage, and the round where it is one; BUILD in a round is a renewal."""
    ends_process: bool = False
    """Where it fails."""
    spoiled: bool = False
    """Its weight is not finite at the end."""

    def build(self) -> Sequence[Event]:
        self._enter(Stage.BUILD, None)
        return [Built(variant=self.variant, layout=LAYOUT)]

    def warm_up(self) -> Sequence[Event]:
        self._enter(Stage.WARMUP, None)
        warmup = Warmup(iterations=1, nanoseconds=pack([self.block_time]), settled=True)
        return [Warmed(variant=self.variant, warmup=warmup, iterations=self.iterations, clock_seconds=1e-7)]

    def renew(self, number: int) -> Sequence[Event]:
        self._enter(Stage.BUILD, number)
        self.instrument.advance(self.renewal_time)
        return []

    def block(self, number: int, *, lead_in: bool = False) -> Sequence[Event]:
        self._enter(Stage.ROUNDS, number)
        self.instrument.advance(self.block_time)
        return [BlockDone(variant=self.variant, round=number, nanoseconds=(self.block_time, number))]

    def end(self, number: int) -> Sequence[Event]:
        return [Spoiled(variant=self.variant, round=number, weights=("weight",))] if self.spoiled else []

    def _enter(self, stage: Stage, number: int | None) -> None:
        if self.fails_at == (stage, number):
            raise LaneStopped(BROKE, ends_process=self.ends_process)


def conducted(
    seed: int | str,
    variants: Sequence[str],
    settings: Settings = QUICK,
    *,
    fails: Mapping[str, tuple[Stage, int | None]] | None = None,
    spoiled: Collection[str] = (),
) -> list[Event]:
    """The events of a launch of scripted lanes."""
    events: list[Event] = []
    instrument = FakeInstrument()
    lanes = [
        ScriptedLane(name, instrument, fails_at=(fails or {}).get(name), spoiled=name in spoiled)
        for name in variants
    ]
    conduct(lanes, random=Random(seed), settings=settings, emit=events.append, now=instrument.now)
    return events
