"""The first iteration: every phase under all instruments."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch

from stepmark.instruments.inspection.called_modules import CalledModules
from stepmark.instruments.inspection.creations import CreationWatch
from stepmark.instruments.inspection.dataflow import dead_flops, reached, used_as_data
from stepmark.instruments.inspection.device_watch import DeviceWatch
from stepmark.instruments.inspection.graph import nodes_behind, saved_by
from stepmark.instruments.inspection.impression import impressions
from stepmark.instruments.inspection.operation_log import OperationLog, PhaseLog
from stepmark.instruments.inspection.operator_uses import used_operators
from stepmark.instruments.inspection.other_threads import OtherThreads
from stepmark.instruments.inspection.storages import Storages, storages_of
from stepmark.instruments.inspection.subject import Subject, tensors_in
from stepmark.records.inspection import Creation, CreationKind, PhaseInspection, Product

FORWARD = "forward"
MOST_LOOKED_AT = 512
"""Tensors of which a few numbers are compared before and after a phase."""


class FirstIteration:
    """One iteration, and what the instruments saw of it."""

    def __init__(self, subject: Subject, known: Sequence[torch.Tensor]) -> None:
        self._subject = subject
        self._known = list({id(one): one for one in known}.values())[:MOST_LOOKED_AT]
        self.storages = Storages()
        self._inputs = {name: self.storages.numbers(one) for name, one in subject.named_inputs()}
        self._weights = {name: self.storages.numbers(one) for name, one in subject.parameters.items()}
        for tensor in known:
            self.storages.numbers(tensor)
        self._log = OperationLog(self.storages)
        self._creations = CreationWatch(self._log, subject.device)
        self._modules = CalledModules(subject.modules)
        self._device = DeviceWatch(subject.device, self.storages)
        self._threads = OtherThreads()
        self._phases: list[PhaseInspection] = []
        self._saved: set[int] = set()
        self.taint: bool | None = None
        """Whether the output is reached from the inputs; None where that is unknown."""
        self.unseen_forward = self.idle_forward = False
        """The forward pass was no operation, and gave its inputs' memory to code that is not torch's."""
        self._mutated: set[int] = set()

    def run(self) -> None:
        subject = self._subject
        with ExitStack() as stack:
            stack.enter_context(self._modules.watched())
            stack.enter_context(subject.context())
            if subject.prepare is not None:
                subject.prepare()
            self._device.begin_iteration()
            for phase, call in zip(subject.phases, subject.calls, strict=True):
                self._phases.append(self._watched(phase, call))

    @property
    def level(self) -> int:
        """Bytes of the accelerator that were taken when the iteration began."""
        return self._device.level

    @property
    def waits(self) -> list[float]:
        """Seconds of waiting for other streams, by phase."""
        return self._device.waits

    def facts(self) -> dict[str, Any]:
        """Fields of the inspection."""
        return {
            "phases": tuple(self._phases),
            "training": self._modules.training(),
            "mutated_inputs": self._names(self._inputs),
            "mutated_weights": self._names(self._weights),
            "autocast": tuple(sorted(self._creations.autocast)),
        }

    def left_over(self) -> int:
        """Bytes that the iteration made and that are alive now."""
        return self.storages.bytes_born(without=self._subject.own())

    def _names(self, known: dict[str, tuple[int, ...]]) -> tuple[str, ...]:
        return tuple(name for name, numbers in known.items() if not self._mutated.isdisjoint(numbers))

    def _watched(self, phase: str, call: Any) -> PhaseInspection:
        log = self._log.begin(phase)
        before = self._impressions()
        self._creations.begin()
        self._device.begin_phase()
        with self._creations.undispatched(), self._creations, self._log:
            returned = call()
        self._device.end_phase()
        on_host = self._subject.device.type == "cpu"
        outstanding = self._threads.outstanding() if on_host else 0.0
        result = self._subject.result_of(phase, returned)
        results = list(tensors_in(result))
        self._log.end(results)
        # Kernels that nobody announces: memory has other numbers, and no operation wrote any.
        log.unseen |= not log.mutated and before != self._impressions()
        if phase == FORWARD or not self._subject.trains:
            self._look_at_forward(phase, log, results)
        saved = self._saved_for(results)
        return PhaseInspection(
            phase=phase,
            operations=log.calls,
            flops=log.flops,
            skippable_flops=log.skippable,
            traffic=log.traffic,
            uncounted=tuple(sorted(log.uncounted)),
            products=tuple(
                Product(dtype=dtype, calls=calls, flops=flops)
                for dtype, (calls, flops) in sorted(log.products.items())
            ),
            operators=used_operators(log.uses, timed=on_host),
            fingerprint=log.digest.hexdigest(),
            **_by_engine(log),
            created=self._created(log, results),
            mutated=len(log.mutated),
            dead_flops=self._dead_flops(log, results),
            unseen=log.unseen,
            outstanding_seconds=outstanding,
            peak_bytes=self._device.peak,
            reserved_bytes=self._device.reserved,
            live_bytes=self._device.live,
            saved_bytes=saved,
            graph_built=any(one.requires_grad for one in results),
            returned=bool(results),
        )

    def _impressions(self) -> list[bytes]:
        """Of a step gradients and parameters tell more; operations may do anything."""
        return impressions(self._known) if self._subject.forward is None else []

    def _dead_flops(self, log: PhaseLog, results: list[torch.Tensor]) -> float:
        """An operation that leaves nothing behind throws its result away: that is nobody's mistake."""
        alive = self.storages.alive()
        left = log.mutated or any(self.storages.births[one] == log.index for one in alive)
        return dead_flops(log.operations, alive) if (results or left) and not log.unseen else 0.0

    def _look_at_forward(self, phase: str, log: PhaseLog, results: list[torch.Tensor]) -> None:
        self._mutated |= log.mutated
        if phase != FORWARD or not results:
            return
        self.unseen_forward = log.unseen
        sources = {number for name, one in self._inputs.items() if name.startswith("input") for number in one}
        touched = reached(log.operations, sources)
        if sources:
            ends = {number for one in results for number in self.storages.numbers(one)}
            self.idle_forward = touched is None and log.calls == 0
            self.taint = touched is None or not touched.isdisjoint(ends)

    def _saved_for(self, results: list[torch.Tensor]) -> int:
        """Bytes that the graph behind the results keeps, without what was there or was counted before."""
        known = {
            number for one in (self._inputs, self._weights) for numbers in one.values() for number in numbers
        }
        kept: dict[int, int] = {}
        for tensor in saved_by(nodes_behind(results)):
            for storage in storages_of(tensor):
                number = self.storages.number(storage)
                if number not in known and number not in self._saved:
                    kept[number] = storage.nbytes()
        self._saved |= kept.keys()
        return sum(kept.values())

    def _created(self, log: PhaseLog, results: list[torch.Tensor]) -> tuple[Creation, ...]:
        parameters = {number for numbers in self._weights.values() for number in numbers}
        ends = {number for one in results for number in self.storages.numbers(one)}
        made = [
            Creation(kind=one.kind, call=one.call, bytes=one.bytes)
            for one in self._creations.created
            if one.kind is not CreationKind.RANDOM
            or used_as_data(
                log.operations[one.at :],
                set(one.numbers),
                parameters=parameters,
                sizes=self.storages.sizes,
                results=ends,
            )
        ]
        made += [Creation(kind=CreationKind.COPY, call=call, bytes=size) for call, size in log.copied]
        return tuple(made)


def _by_engine(log: PhaseLog) -> dict[str, Any]:
    inside = [one for one in log.operations if one.inside_engine]
    outside = [one for one in log.operations if not one.inside_engine]
    return {
        "forward_operations": len(outside),
        "forward_flops": sum(one.flops for one in outside),
        "backward_operations": len(inside),
        "backward_flops": sum(one.flops for one in inside),
    }
