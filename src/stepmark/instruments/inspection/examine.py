"""Examining: two iterations of a step under instruments.

The first runs under the heavy ones: the log of operations, created data, threads that go on working.
The second has light ones: graphs, gradients, optimizers, memory that stays; more follow only where an
optimizer changed nothing, or passed weights by. Compiled code runs as it was written in all of them. Whatever
the iterations change is put back; whatever goes wrong ends as the inspection's problem, never as the case's.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from msgspec.structs import replace

from stepmark.instruments.inspection.backward_watch import BackwardWatch
from stepmark.instruments.inspection.compiler import set_aside
from stepmark.instruments.inspection.device_watch import STRAY
from stepmark.instruments.inspection.first_iteration import FirstIteration
from stepmark.instruments.inspection.memory import made_since_start, reachable_tensors, surroundings
from stepmark.instruments.inspection.optimizer_watch import OptimizerWatch
from stepmark.instruments.inspection.repeats import depends_on_inputs, is_repeatable
from stepmark.instruments.inspection.second_iteration import SecondIteration
from stepmark.instruments.inspection.snapshot import Snapshot
from stepmark.instruments.inspection.storages import storages_of
from stepmark.instruments.inspection.subject import Subject
from stepmark.instruments.inspection.values import degenerates
from stepmark.records.inspection import Inspection, MemoryFacts, ValueKind


def examine(subject: Subject) -> Inspection:
    """What two iterations showed; the step, random generators and torch's settings are as before."""
    begin = time.perf_counter()
    examination = _Examination(subject)
    problem = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the plain steps have given them
            examination.look_around()
            with _put_back(subject):
                examination.iterate()
    except Exception as error:
        # The plain steps ran: a step that fails now fails because of the instruments.
        problem = f"{type(error).__name__}: {error}"[:500]
    return replace(examination.seen, problem=problem, seconds=time.perf_counter() - begin)


@contextmanager
def _put_back(subject: Subject) -> Iterator[None]:
    snapshot = Snapshot(subject)
    try:
        yield
    finally:
        if subject.prepare is not None:
            subject.prepare()
        snapshot.restore()


class _Examination:
    """The inspection as far as it has come."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.seen = Inspection(phases=())
        self._known: list[torch.Tensor] = []

    def _note(self, **facts: Any) -> None:
        self.seen = replace(self.seen, **facts)

    def look_around(self) -> None:
        """Before anything of the inspection's own is there."""
        subject = self._subject
        if subject.prepare is not None:
            subject.prepare()
        compiler = subject.compiler.facts()
        own, held = subject.own(), reachable_tensors(subject.roots)
        around = surroundings(own, held)
        self._known = [*own, *held, *([] if subject.forward else made_since_start())]
        self._note(
            compiler=compiler,
            eager=compiler.frames > 0,
            memory=MemoryFacts(before_build=around.before_build, own=around.own, foreign=around.foreign),
            degenerate=tuple(_before(subject)),
        )

    def iterate(self) -> None:
        subject = self._subject
        graphs = BackwardWatch(subject.parameters)
        optimizers = OptimizerWatch(subject.parameters, subject.optimizer)
        with set_aside():
            first = FirstIteration(subject, self._known)
            with graphs.iteration():
                try:
                    first.run()
                finally:
                    self._note(**first.facts())
            unseen, idle = first.unseen_forward, first.idle_forward
            self._note(depends=depends_on_inputs(subject, first.taint, unseen=unseen, idle=idle))
            second = SecondIteration(subject, graphs, optimizers, first)
            second.run()
            self._note(
                gradients=graphs.facts() if subject.trains or graphs.passes else None,
                degenerate=(*self.seen.degenerate, *second.degenerate),
                memory=replace(self.seen.memory, kept=second.kept, kept_before=second.kept_before),
                foreign_streams=any(_strays(first, second)),
                phases=tuple(
                    replace(phase, stray_seconds=stray, waits=places)
                    for phase, stray, places in zip(
                        self.seen.phases, _strays(first, second), second.places, strict=True
                    )
                ),
                host_seconds=second.host_seconds,
                device_seconds=second.device_seconds,
            )
            suspects = _weights_among(graphs.reached(), subject)
            second.await_update()
            passed_by = optimizers.passed_by(suspects)
            left = second.unchanged(passed_by) if passed_by else []
            self._note(optimizer=optimizers.facts(_named(left, subject)))
            if subject.deterministic and subject.forward is not None:
                self._note(repeatable=is_repeatable(subject))


def _weights_among(leaves: Sequence[torch.Tensor], subject: Subject) -> list[torch.Tensor]:
    """Parameters. Other tensors may want a gradient and no update: coordinates, inputs of a part."""
    inputs = {storage._cdata for _, one in subject.named_inputs() for storage in storages_of(one)}
    return [
        leaf
        for leaf in leaves
        if isinstance(leaf, torch.nn.Parameter) and not any(key._cdata in inputs for key in storages_of(leaf))
    ]


def _named(weights: Sequence[torch.Tensor], subject: Subject) -> list[str]:
    names = {id(parameter): name for name, parameter in subject.parameters.items()}
    return [names.get(id(one), f"{' x '.join(map(str, one.shape)) or 'a number'}") for one in weights]


def _strays(first: FirstIteration, second: SecondIteration) -> list[float]:
    """By phase: seconds that the device worked on in both iterations after the current stream was done."""
    if not first.waits:
        return [0.0] * len(second.places)
    both = [min(pair) for pair in zip(first.waits, second.waits, strict=True)]
    return [seconds if seconds > STRAY else 0.0 for seconds in both]


def _before(subject: Subject) -> Iterator[Any]:
    """Numbers that were there before the iteration."""
    yield from degenerates(ValueKind.INPUT, subject.named_inputs())
    yield from degenerates(ValueKind.WEIGHT, subject.parameters.items())
