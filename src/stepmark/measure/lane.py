"""A lane: one case inside a launch, in three verbs, hosted in the process at hand."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from stepmark.measure.block_size import QUEUED_LONGER, block_size
from stepmark.measure.failures import LaneStopped, forget_frames, from_exception
from stepmark.measure.instrument import Instrument
from stepmark.measure.program import Program
from stepmark.measure.protocol import BlockDone, Built, Event, FlagsChanged, Spoiled, Warmed
from stepmark.measure.sampler import Block, clock_cost, run_block, take_block
from stepmark.measure.steady import LEAST, is_steady
from stepmark.measure.watch import LaneSights, ProcessSights, Unwatched
from stepmark.records.outcome import Stage
from stepmark.records.sample import pack
from stepmark.records.settings import Settings
from stepmark.records.trial import FlagChange, Warmup

Bind = Callable[[], Program]

FIRST = 3
"""Iterations timed one by one before blocks are formed."""
SETTLING = 0.003
"""Seconds a lane that was built anew runs, at least twice, before it is timed again: the process is warm,
only its memory is new."""
LEAD_IN = 0.0001
"""Seconds of untimed iterations, at least one, before a block on a device with a queue: they bring the
caches back and fill the queue."""
LONG = 0.02
"""Seconds of an iteration on such a device from which it is timed whole and apart at once, without a lead-in:
the readings inside, the empty queue and the neighbour's caches are then less than 0.2 % of it."""


class Lane(Protocol):
    """What a launch needs of a lane. Each verb returns what is to be reported, and raises LaneStopped when
    the lane cannot go on."""

    @property
    def variant(self) -> str: ...

    def build(self) -> Sequence[Event]: ...

    def warm_up(self) -> Sequence[Event]: ...

    def renew(self, number: int) -> Sequence[Event]: ...

    def block(self, number: int, *, lead_in: bool = False) -> Sequence[Event]: ...

    def end(self, number: int) -> Sequence[Event]: ...


class HostedLane:
    """A lane in this process."""

    def __init__(
        self,
        variant: str,
        bind: Bind,
        instrument: Instrument,
        settings: Settings,
        *,
        sights: ProcessSights | None = None,
        now: Callable[[], float] = time.perf_counter,
        release: Callable[[], object] | None = None,
    ) -> None:
        """`release` gives the memory that the process holds without using it back to the device, and raises
        where the device does not answer."""
        self._variant = variant
        self._release = release
        self._bind = bind
        self._instrument = instrument
        self._settings = settings
        self._process = sights or ProcessSights(Unwatched())
        self._sights = LaneSights(self._process, seconds=settings.round_seconds)
        self._now = now
        self._program: Program
        self._iterations: tuple[int, ...]
        self._seconds = 0.0
        """Of one round of the program's calls, as far as it is known."""

    @property
    def variant(self) -> str:
        return self._variant

    def build(self) -> Sequence[Event]:
        """Parameters, inputs, optimizer: nothing is run yet."""
        return self._guarded(Stage.BUILD, None, self._build)

    def warm_up(self) -> Sequence[Event]:
        """Run until the blocks show no warming trend, and fix the block size from what was seen."""
        return self._guarded(Stage.WARMUP, None, self._warm_up)

    def renew(self, number: int) -> Sequence[Event]:
        """Build the lane anew before the round of that number: other memory, other values, the same blocks.
        The old one is gone before the new one is made, so that a lane never takes its memory twice."""
        return self._guarded(Stage.BUILD, number, lambda: self._renew(number))

    def block(self, number: int, *, lead_in: bool = False) -> Sequence[Event]:
        """One block, with `lead_in` after an unclocked iteration."""
        return self._guarded(Stage.ROUNDS, number, lambda: self._block(number, lead_in=lead_in))

    def end(self, number: int) -> Sequence[Event]:
        """After so many rounds: a last look at the weights."""
        return self._guarded(Stage.ROUNDS, number, lambda: self._spoiled(number))

    def _guarded(self, stage: Stage, number: int | None, act: Callable[[], Event | None]) -> Sequence[Event]:
        """Whatever the user's code does here ends with the lane: exceptions stop it, global flags it changed
        are reported and put back before a neighbour's turn."""
        before = self._instrument.flags()
        try:
            event = act()
        except BaseException as error:
            self._instrument.restore(before)
            failure = from_exception(error, stage)
            forget_frames(error)
            raise LaneStopped(failure, ends_process=not self._let_go()) from error
        changes = self._flag_changes(before, number)
        return changes if event is None else (event, *changes)

    def _let_go(self) -> bool:
        """A lane that stopped leaves its memory to its neighbours: what the frames of its failure held is
        gone, now its program. Whether the device still answers: after an illegal access it does not, and
        every neighbour would fail at it."""
        self.__dict__.pop("_program", None)
        gc.collect()
        try:
            if self._release is not None:
                self._release()
        except Exception:
            return False
        self._process.settle()
        return True

    def _build(self) -> Built:
        self._program = self._bind()
        return Built(variant=self._variant, layout=self._program.layout)

    def _warm_up(self) -> Warmed:
        warmup = self._until_steady()
        self._leave_nothing_behind()
        self._process.settle()
        # Only now is it known how often a graph holds a call, among which its clock's cost is divided.
        cost = clock_cost(self._program, self._instrument)
        return Warmed(variant=self._variant, warmup=warmup, iterations=self._iterations, clock_seconds=cost)

    def _renew(self, number: int) -> Spoiled | None:
        spoiled = self._spoiled(number)
        del self._program
        gc.collect()
        self._program = self._bind()
        begin = self._now()
        runs = 0
        while runs < 2 or self._now() - begin < SETTLING:
            self._program.iterate()
            # A device would be asked for seconds of work meanwhile, and what goes wrong there would show in
            # a neighbour's turn.
            self._instrument.begin()
            runs += 1
        self._leave_nothing_behind()
        self._process.settle()
        return spoiled

    def _spoiled(self, number: int) -> Spoiled | None:
        """Steps may lead where no number is finite long after the solo pass has looked."""
        weights = self._program.not_finite() if self._program.not_finite else ()
        return Spoiled(variant=self._variant, round=number, weights=weights) if weights else None

    def _block(self, number: int, *, lead_in: bool) -> BlockDone:
        self._sights.before()
        untimed = self._lead_in() if self._instrument.queues else int(lead_in)
        block = self._take(lead_in=untimed, whole_first=number % 2 == 0)
        self._leave_nothing_behind()
        spent = tuple(each * n for each, n in zip(block.nanoseconds, self._program.times, strict=True))
        seen = self._sights.after(*self._levels([spent]))
        return BlockDone(
            variant=self._variant,
            round=number,
            nanoseconds=block.nanoseconds,
            host=block.host,
            lag=block.lag,
            compilations=seen.compilations,
            grown=seen.grown,
            own=seen.own,
            card=seen.card,
        )

    def _take(self, *, lead_in: int = 0, whole_first: bool = True) -> Block:
        return take_block(
            self._program,
            self._iterations,
            self._instrument,
            lead_in=lead_in,
            in_turn=self._instrument.queues and self._seconds < LONG,
            whole_first=whole_first,
        )

    def _lead_in(self) -> int:
        """Iterations before a block on a device with a queue, whoever ran before: its queue is empty when a
        block begins."""
        if self._seconds >= LONG:
            return 0
        return max(1, round(LEAD_IN / max(self._seconds, 1e-6)))

    def _leave_nothing_behind(self) -> None:
        """The last graph and gradients are freed before the neighbours' turn."""
        if self._program.prepare is not None:
            self._program.prepare()

    def _until_steady(self) -> Warmup:
        begin = self._now()
        single = (1,) * len(self._program.layout.phases)
        first = [run_block(self._program, single, self._instrument) for _ in range(FIRST)]
        self._fix_block_size(first[1:], single)
        blocks: list[tuple[int, ...]] = []
        settled = False
        while not settled:
            blocks.append(self._take().nanoseconds)
            elapsed = self._now() - begin
            settled = elapsed >= self._settings.warmup_seconds and is_steady(self._levels(blocks))
            if elapsed >= self._settings.warmup_cap and len(blocks) >= LEAST:
                break
        warmup = Warmup(
            iterations=max(self._iterations),
            nanoseconds=pack(self._levels(blocks)),
            settled=settled,
            first=pack(self._levels(first)),
        )
        self._fix_block_size(blocks, self._iterations)
        return warmup

    def _levels(self, blocks: Sequence[tuple[int, ...]]) -> list[int]:
        layout = self._program.layout
        if layout.whole is None:
            return [sum(block) for block in blocks]
        whole = layout.phases.index(layout.whole)
        return [block[whole] for block in blocks]

    def _fix_block_size(self, blocks: Sequence[tuple[int, ...]], iterations: tuple[int, ...]) -> None:
        """From the fastest block: lanes that do the same get blocks of the same size, whatever the machine
        did meanwhile. Of unequal blocks the longer averages over more of the machine's moods, and says
        something else."""
        layout = self._program.layout
        seconds = [min(block[i] for block in blocks) * 1e-9 / n for i, n in enumerate(iterations)]
        whole = layout.phases.index(layout.whole) if layout.whole else None
        spent = [each * n for each, n in zip(seconds, self._program.times, strict=True)]
        self._seconds = spent[whole] if whole is not None else sum(spent)
        around = [each + self._program.flush_seconds for each in spent]
        longer = QUEUED_LONGER if self._instrument.queues else 1.0
        self._iterations = block_size(
            around, whole=whole, block_seconds=self._settings.block_seconds * longer
        )

    def _flag_changes(self, before: Mapping[str, str], number: int | None) -> tuple[FlagsChanged, ...]:
        after = self._instrument.flags()
        if after == before:
            return ()
        self._instrument.restore(before)
        return tuple(
            FlagsChanged(
                variant=self._variant,
                change=FlagChange(name=name, before=value, after=after[name], round=number),
            )
            for name, value in before.items()
            if after[name] != value
        )
