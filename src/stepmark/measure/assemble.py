"""From events to trials: what a worker reported, and how it ended, as one record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest

from msgspec.structs import replace

from stepmark.measure.assignment import LaunchAssignment, SoloAssignment, WarmupAssignment
from stepmark.measure.protocol import (
    Began,
    BlockDone,
    Built,
    Entered,
    Event,
    FaultsWeighed,
    FlagsChanged,
    IterationDone,
    LaneFailed,
    Paced,
    Ready,
    RenewalBegan,
    RoundBegan,
    SoloDone,
    Spoiled,
    Warmed,
)
from stepmark.measure.sampler import Block
from stepmark.measure.watch import READINGS
from stepmark.records.card import pack_readings
from stepmark.records.environment import LoadFacts
from stepmark.records.outcome import Failure, Stage
from stepmark.records.sample import Sample, pack
from stepmark.records.settings import Isolation
from stepmark.records.trial import (
    FlagChange,
    LaneTrial,
    LaneWatch,
    LaunchActivity,
    LaunchTrial,
    ProcessFacts,
    Renewal,
    SoloTrial,
)
from stepmark.records.warmup import WarmupTrial


@dataclass(frozen=True, kw_only=True)
class Timing:
    """When a trial ran."""

    started: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What came of one process: what it said and printed."""

    events: Sequence[Event]
    started_by: str
    output: str = ""


def last_entered(events: Iterable[Event]) -> Entered:
    """What the worker was about to do last: where it died, if it died."""
    entered = [event for event in events if isinstance(event, Entered)]
    return entered[-1] if entered else Entered(stage=Stage.IMPORT)


def solo_trial(
    assignment: SoloAssignment, home: Ended, *, timing: Timing, death: Failure | None
) -> SoloTrial:
    """`death` is given where the process did not finish by itself."""
    done = next((event for event in home.events if isinstance(event, SoloDone)), None)
    failed = next((event.failure for event in home.events if isinstance(event, LaneFailed)), None)
    failure = failed or death
    return SoloTrial(
        case=assignment.case,
        started=timing.started,
        seconds=timing.seconds,
        process=process_facts(home),
        evidence=done.evidence if done and failure is None else None,
        samples=done.samples if done and failure is None else (),
        failure=replace(failure, output=home.output) if failure else None,
        output=home.output,
    )


def warmup_trial(
    assignment: WarmupAssignment, home: Ended, *, timing: Timing, death: Failure | None
) -> WarmupTrial:
    """`death` is given where the process did not finish by itself."""
    events = home.events
    ready = next((event for event in events if isinstance(event, Ready)), None)
    failed = next((event.failure for event in events if isinstance(event, LaneFailed)), None)
    weighed = next((event for event in events if isinstance(event, FaultsWeighed)), None)
    failure = failed or death
    return WarmupTrial(
        number=assignment.number,
        started=timing.started,
        seconds=timing.seconds,
        process=process_facts(home),
        layout=ready.layout if ready else None,
        before=ready.reading if ready else None,
        iterations=tuple(event.iteration for event in events if isinstance(event, IterationDone)),
        seconds_per_fault=weighed.seconds_per_fault if weighed else None,
        failure=replace(failure, output=home.output, launch=assignment.number) if failure else None,
        output=home.output,
    )


def process_facts(home: Ended | None) -> ProcessFacts | None:
    """What a worker said of itself when it began."""
    began = next((event for event in home.events if isinstance(event, Began)), None) if home else None
    if home is None or began is None:
        return None
    return ProcessFacts(pid=began.pid, started_by=home.started_by, threads=began.threads)


@dataclass
class _LaneNotes:
    """What the events said about one lane so far."""

    built: Built | None = None
    warmed: Warmed | None = None
    blocks: list[BlockDone] = field(default_factory=list)
    changes: list[FlagChange] = field(default_factory=list)
    spoiled: list[Spoiled] = field(default_factory=list)
    failure: Failure | None = None

    def take(self, event: Event) -> None:
        match event:
            case Built():
                self.built = event
            case Warmed():
                self.warmed = event
            case BlockDone():
                self.blocks.append(event)
            case FlagsChanged():
                self.changes.append(event.change)
            case Spoiled():
                self.spoiled.append(event)
            case LaneFailed():
                # Where the process ended over it as well, the first says why.
                self.failure = self.failure or event.failure

    def trial(self, variant: str, process: ProcessFacts | None, launch: int) -> LaneTrial:
        layout = self.built.layout if self.built else None
        iterations = self.warmed.iterations if self.warmed else ()
        return LaneTrial(
            variant=variant,
            layout=layout,
            process=process,
            warmup=self.warmed.warmup if self.warmed else None,
            samples=tuple(
                sample_of(phase, n, i, self.blocks)
                for i, (phase, n) in enumerate(zip(layout.phases if layout else (), iterations, strict=False))
            ),
            rounds=pack(block.round for block in self.blocks),
            flag_changes=tuple(self.changes),
            watch=lane_watch(self.blocks, self.spoiled),
            clock_seconds=self.warmed.clock_seconds if self.warmed else 0.0,
            failure=replace(self.failure, launch=launch) if self.failure else None,
        )


def sample_of(phase: str, iterations: int, place: int, blocks: Sequence[BlockDone | Block]) -> Sample:
    """The phase at that place of the layout, from blocks in the order of their rounds."""
    queued = bool(blocks) and all(block.host for block in blocks)
    return Sample(
        phase=phase,
        iterations=iterations,
        nanoseconds=pack(block.nanoseconds[place] for block in blocks),
        host=pack(block.host[place] for block in blocks) if queued else b"",
        lag=pack(block.lag[place] for block in blocks) if queued else b"",
    )


def lane_watch(blocks: Sequence[BlockDone], spoiled: Sequence[Spoiled] = ()) -> LaneWatch:
    """Of blocks, and of what was found when lanes were built anew or ended, in the order of their rounds."""
    compiled = [block.round for block in blocks if block.compilations]
    read = [block for block in blocks if block.grown is not None and block.own is not None]
    return LaneWatch(
        compilations=sum(block.compilations for block in blocks),
        first_compiled=compiled[0] if compiled else None,
        live_bytes=_thinned_sums(block.grown or 0 for block in read),
        own_bytes=_thinned_sums(block.own or 0 for block in read),
        card=pack_readings((block.round, block.card) for block in blocks if block.card is not None),
        not_finite=spoiled[0].weights if spoiled else (),
        first_not_finite=spoiled[0].round if spoiled else None,
    )


def _thinned_sums(changes: Iterable[int]) -> bytes:
    """What has come together up to each of some readings, the first and the last among them."""
    sums = list(accumulate(changes))
    num = min(len(sums), READINGS)
    return pack(sums[i * (len(sums) - 1) // max(num - 1, 1)] for i in range(num))


def _paces(events: Iterable[Event], processes: Iterable[Ended]) -> list[list[Paced]]:
    """By process; the runner's own where it drives the lanes itself."""
    said = [_paced(process.events) for process in processes]
    return [paces for paces in (said if any(said) else [_paced(events)]) if paces]


def _paced(events: Iterable[Event]) -> list[Paced]:
    return [event for event in events if isinstance(event, Paced)]


def _with_pace(
    activity: LaunchActivity | None, by_process: Sequence[Sequence[Paced]]
) -> LaunchActivity | None:
    """The device's clock before the first round and after the last, of several processes that in which it
    changed most: each has work of its own, and a card under its power cap a clock for it. And what held it
    down."""
    if not by_process:
        return activity
    ends = [(paces[0].megahertz, paces[-1].megahertz) for paces in by_process if len(paces) > 1]
    known = [(first, last) for first, last in ends if first is not None and last is not None]
    paces = [pace for each in by_process for pace in each]
    cards = [pace.card for pace in paces if pace.card is not None]
    return replace(
        activity or LaunchActivity(),
        megahertz=max(known, key=lambda ends: abs(ends[1] - ends[0]), default=None),
        throttle_reasons=tuple(dict.fromkeys(reason for pace in paces for reason in pace.slowed_by)),
        card=(cards[0], cards[-1]) if len(cards) > 1 else None,
    )


def launch_trial(
    assignment: LaunchAssignment,
    events: Sequence[Event],
    *,
    processes: Sequence[Ended],
    timing: Timing,
    load: LoadFacts | None,
    activity: LaunchActivity | None = None,
    cut_short: bool = False,
) -> LaunchTrial:
    """`events` are all lanes' events in order; `processes` holds the shared one, or one per lane that got as
    far as having one."""
    variants = [case.variant for case in assignment.cases]
    notes = {variant: _LaneNotes() for variant in variants}
    for event in events:
        variant = getattr(event, "variant", None)
        if variant is not None:
            notes[variant].take(event)
        elif isinstance(event, LaneFailed):  # the whole process failed: no lane has more than its blocks
            for note in notes.values():
                note.failure = note.failure or event.failure
    shared = assignment.settings.isolation is Isolation.SHARED
    homes = [*processes] * len(variants) if shared else [*processes]
    return LaunchTrial(
        cell=assignment.cell,
        number=assignment.number,
        seed=assignment.seed,
        role=assignment.role,
        isolation=assignment.settings.isolation,
        started=timing.started,
        seconds=timing.seconds,
        build_order=_order(events, Stage.BUILD),
        warmup_order=_order(events, Stage.WARMUP),
        round_orders=tuple(event.order for event in events if isinstance(event, RoundBegan)),
        renewals=tuple(
            Renewal(round=event.number, order=event.order)
            for event in events
            if isinstance(event, RenewalBegan)
        ),
        lanes=tuple(
            notes[variant].trial(variant, process_facts(home), assignment.number)
            for variant, home in zip_longest(variants, homes, fillvalue=None)
            if variant is not None
        ),
        load=load,
        activity=_with_pace(activity, _paces(events, processes)),
        cut_short=cut_short,
        output="".join(process.output for process in processes),
    )


def _order(events: Iterable[Event], stage: Stage) -> tuple[str, ...]:
    return tuple(
        event.variant
        for event in events
        if isinstance(event, Entered)
        and event.stage is stage
        and event.variant is not None
        and event.round is None
    )
