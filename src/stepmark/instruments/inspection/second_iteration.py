"""The second iteration: graphs, gradients, optimizers and memory that stays, under light instruments.

Where its optimizer changed nothing, others follow until it does, or until nobody would wait any longer; where
weights got gradients that no optimizer holds, one that shows whether they change all the same.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from stepmark.instruments.inspection.backward_watch import BackwardWatch
from stepmark.instruments.inspection.device_watch import wait_for
from stepmark.instruments.inspection.first_iteration import FirstIteration
from stepmark.instruments.inspection.impression import impression
from stepmark.instruments.inspection.operators import makes_nothing
from stepmark.instruments.inspection.optimizer_watch import OptimizerWatch
from stepmark.instruments.inspection.storages import Storages
from stepmark.instruments.inspection.subject import Subject, tensors_in
from stepmark.instruments.inspection.values import degenerates
from stepmark.instruments.inspection.waits import watched_waits
from stepmark.records.inspection import Degenerate, ValueKind

OPTIMIZER = "optimizer"
WORTH_COLLECTING = 1024
"""Bytes left behind by both iterations, from which on garbage in circles is ruled out."""
MOST_GATHERED = 16
"""Passes that an optimizer may gather before it updates: an iteration each."""


class SecondIteration:
    """One more iteration, after the first."""

    def __init__(
        self, subject: Subject, graphs: BackwardWatch, optimizers: OptimizerWatch, first: FirstIteration
    ) -> None:
        self._subject = subject
        self._graphs = graphs
        self._optimizers = optimizers
        self._first = first
        self._made = _MadeMemory()
        self._accelerated = subject.device.type == "cuda"
        self._levels = [first.level]
        self.degenerate: tuple[Degenerate, ...] = ()
        self.kept = self.kept_before = 0
        self.waits: list[float] = []
        self.places: list[tuple[str, ...]] = []
        """By phase: where it made the host wait."""
        self.host_seconds: float | None = None
        self.device_seconds: float | None = None

    def run(self) -> None:
        subject = self._subject
        # A mode costs the host time, and on an accelerator the allocator knows better.
        memory: AbstractContextManager[Any] = nullcontext() if self._accelerated else self._made
        with self._graphs.iteration(arrivals=True), self._optimizers.iteration(), subject.context():
            self._prepare()
            with memory:
                results = list(self._phases())
            self._look_at_values(results)
            del results
        self._prepare()
        self._weigh()
        if min(self.kept, self.kept_before) >= WORTH_COLLECTING:
            gc.collect()
            self._levels.pop()
            self._prepare()
            self._weigh()

    def await_update(self) -> None:
        """Iterations of which only the optimizer is watched."""
        for _ in range(MOST_GATHERED - 1):
            if not self._optimizers.in_doubt:
                return
            self._prepare()
            with self._optimizers.iteration(), self._subject.context():
                for phase, call in zip(self._subject.phases, self._subject.calls, strict=True):
                    with self._around(phase):
                        call()

    def unchanged(self, suspects: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Those that get a gradient in one more iteration, and that it leaves as they are: weights may be
        updated by hand, and a pass may reach one without a gradient."""
        before = [impression(one) for one in suspects]
        self._prepare()
        with self._subject.context():
            for call in self._subject.calls:
                call()
        both = zip(suspects, before, strict=True)
        return [one for one, known in both if one.grad is not None and impression(one) == known]

    def _around(self, phase: str) -> AbstractContextManager[None]:
        declared = phase == OPTIMIZER and self._subject.optimizer is not None
        return self._optimizers.declared_step() if declared else nullcontext()

    def _prepare(self) -> None:
        if self._subject.prepare is not None:
            self._subject.prepare()
        if self._accelerated:
            torch.cuda.synchronize(self._subject.device)
            self._levels.append(torch.cuda.memory_allocated(self._subject.device))

    def _phases(self) -> Iterator[tuple[str, Any]]:
        host = device = 0.0
        for phase, call in zip(self._subject.phases, self._subject.calls, strict=True):
            with self._around(phase):
                with watched_waits(self._subject.device) as places:
                    begin = time.perf_counter()
                    returned = call()
                    enqueued = time.perf_counter()
                self.places.append(tuple(places))
            if self._accelerated:
                self.waits.append(wait_for(self._subject.device))
                host, device = host + enqueued - begin, device + time.perf_counter() - begin
                self.host_seconds, self.device_seconds = host, device
            self._graphs.look_at_gradients()
            yield phase, self._subject.result_of(phase, returned)

    def _look_at_values(self, results: list[tuple[str, Any]]) -> None:
        outputs = [(phase, tensor) for phase, result in results for tensor in tensors_in(result)]
        gradients = [
            (name, one.grad) for name, one in self._subject.parameters.items() if one.grad is not None
        ]
        self.degenerate = (
            *degenerates(ValueKind.OUTPUT, outputs),
            *degenerates(ValueKind.GRADIENT, gradients),
        )

    def _weigh(self) -> None:
        if self._accelerated:
            start, between, end = self._levels
            self.kept, self.kept_before = max(0, end - between), max(0, between - start)
        else:
            self.kept = self._made.storages.bytes_born(without=self._subject.own())
            self.kept_before = self._first.left_over()


class _MadeMemory(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Storages that operations make; nothing else is looked at."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.storages = Storages()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """As in the log of operations."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(one is not torch.Tensor and one is not torch.nn.Parameter for one in types):
            return NotImplemented
        result = func(*args, **(kwargs or {}))
        if isinstance(func, torch._ops.OpOverload) and not makes_nothing(func):
            for tensor in tensors_in(result):
                self.storages.numbers(tensor, birth=0)
        return result
