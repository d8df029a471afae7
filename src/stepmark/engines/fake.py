"""A scripted engine: the whole protocol in this process and in fake time. Public, for tests without workers.

    engine = FakeEngine(outline, {"dense": {"forward": 100_000}, "mine": {"forward": 80_000}})

Each variant is a script: nanoseconds per phase, a function that returns them, or an exception to raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from msgspec.structs import replace

from stepmark.instruments.fake import Duration, FakeDevice, FakeInstrument
from stepmark.measure.assemble import Ended, Timing, launch_trial, solo_trial
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.lane import HostedLane
from stepmark.measure.launch import conduct
from stepmark.measure.one_after_another import one_after_another
from stepmark.measure.program import Program
from stepmark.measure.protocol import Began, Described, Event
from stepmark.measure.solo import pass_alone
from stepmark.records.case import Case
from stepmark.records.ceilings import Ceilings
from stepmark.records.environment import TorchFacts
from stepmark.records.memory import DeviceMemory
from stepmark.records.outline import SuiteOutline
from stepmark.records.settings import Isolation
from stepmark.records.source import Source
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial

Script = Mapping[str, Duration] | Exception
"""Phases with their nanoseconds, or what building raises. On a device that queues, pairs: the host's
nanoseconds and the device's."""

_NO_TORCH = TorchFacts(version="fake", build="", threads=1, interop_threads=1, flags=())


class FakeEngine:
    """Performs assignments by script."""

    def __init__(
        self,
        outline: SuiteOutline,
        scripts: Mapping[str, Script],
        *,
        reading: int = 50,
        latency: int | None = None,
        memory: Mapping[str, DeviceMemory] | None = None,
    ) -> None:
        """With a `latency` there is a device that does the work, that long after it was asked; with `memory`,
        by variant, the solo passes say that they took so much of it."""
        self._memory = memory or {}
        self._outline = outline
        self._scripts = scripts
        self._instrument = (
            FakeInstrument(reading=reading)
            if latency is None
            else FakeDevice(reading=reading, latency=latency)
        )
        self.performed: list[Assignment] = []
        """Everything it was asked to do."""
        self.closed = False

    def describe(self, sources: Sequence[Source], device: str) -> Described:  # noqa: ARG002
        return Described(suites=(self._outline,), torch=_NO_TORCH, device=device)

    def perform(self, assignment: Assignment) -> Trial:
        self.performed.append(assignment)
        match assignment:
            case SoloAssignment():
                return self._solo(assignment)
            case LaunchAssignment():
                return self._launch(assignment)

    def ceilings(self, device: str) -> Ceilings | None:  # noqa: ARG002
        """None: scripted time knows no physics."""
        return None

    def close(self) -> None:
        self.closed = True

    def _bind(self, variant: str) -> Callable[[], Program]:
        script = self._scripts[variant]

        def bind() -> Program:
            if isinstance(script, Exception):
                raise script
            return self._instrument.step(script)

        return bind

    def _solo(self, assignment: SoloAssignment) -> SoloTrial:
        events: list[Event] = [self._began()]
        variant = assignment.case.variant
        pass_alone(
            variant,
            self._bind(variant),
            instrument=self._instrument,
            settings=assignment.settings,
            emit=events.append,
        )
        home = Ended(events=events, started_by="fake")
        trial = solo_trial(assignment, home, timing=self._timing(), death=None)
        if trial.evidence is None or variant not in self._memory:
            return trial
        return replace(trial, evidence=replace(trial.evidence, device_memory=self._memory[variant]))

    def _launch(self, assignment: LaunchAssignment) -> LaunchTrial:
        cases = assignment.cases
        if assignment.settings.isolation is Isolation.ALONE:
            said = [self._conduct(assignment, (case,)) for case in cases]
        else:
            said = [self._conduct(assignment, cases)]
        homes = [Ended(events=events, started_by="fake") for events in said]
        return launch_trial(
            assignment, one_after_another(said), processes=homes, timing=self._timing(), load=None
        )

    def _conduct(self, assignment: LaunchAssignment, cases: Sequence[Case]) -> list[Event]:
        """What the process of these lanes says."""
        events: list[Event] = [self._began()]
        lanes = [
            HostedLane(
                case.variant,
                self._bind(case.variant),
                self._instrument,
                assignment.settings,
                now=self._instrument.now,
            )
            for case in cases
        ]
        conduct(
            lanes,
            random=Random(assignment.seed),
            settings=assignment.settings,
            emit=events.append,
            now=self._instrument.now,
        )
        return events

    def _began(self) -> Began:
        return Began(pid=len(self.performed), threads=1)

    def _timing(self) -> Timing:
        return Timing(started=self._instrument.now(), seconds=0.0)
