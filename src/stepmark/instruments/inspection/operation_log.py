"""The operation log: every operation of an iteration as torch's dispatcher saw it, phase by phase.

Operations on tensors that wrap others are seen where the wrapper calls them; operators made of others are
taken apart. Code that writes memory without the dispatcher (a kernel of one's own) shows by memory that is
read, or left behind, without anybody having written it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from time import perf_counter_ns
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from stepmark.instruments.inspection.operator_uses import Use
from stepmark.instruments.inspection.operators import Operator, operator
from stepmark.instruments.inspection.storages import Storages, footprint, storages_of
from stepmark.instruments.inspection.traffic import traffic_of
from stepmark.instruments.inspection.work import skippable, work_of

TINY = 64
"""Bytes of created data up to which nothing is said: a learning rate, a scale, an index."""


class Operation(NamedTuple):
    """One operation that moved numbers, by the numbers of the storages."""

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: float
    inside_engine: bool
    leaves_torch: bool
    """Its result went into Python or somebody else's code."""


@dataclass
class PhaseLog:
    """The operations of one phase and what they add up to."""

    phase: str
    index: int
    operations: list[Operation] = field(default_factory=list)
    calls: int = 0
    flops: float = 0.0
    skippable: float = 0.0
    traffic: float = 0.0
    products: dict[str, tuple[int, float]] = field(default_factory=dict)
    uses: dict[str, Use] = field(default_factory=lambda: defaultdict(Use))
    """By operator."""
    copied: list[tuple[str, int]] = field(default_factory=list)
    """From the host to the device."""
    uncounted: set[str] = field(default_factory=set)
    mutated: set[int] = field(default_factory=set)
    unseen: bool = False
    handed_out: bool = False
    """Code that is not torch's got hold of a tensor's memory."""
    digest: Any = field(default_factory=lambda: blake2b(digest_size=16))
    ordinals: dict[int, int] = field(default_factory=dict)

    def add_product(self, dtype: str, flops: float) -> None:
        calls, so_far = self.products.get(dtype, (0, 0.0))
        self.products[dtype] = (calls + 1, so_far + flops)


class OperationLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that keeps the log. Storages are shared with whoever else looks at memory."""

    def __init__(self, storages: Storages) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.storages = storages
        self.phases: list[PhaseLog] = []
        self._unwritten: set[int] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """torch would import its compiler, which takes two seconds, to keep it away from a mode."""
        return False

    def begin(self, phase: str) -> PhaseLog:
        self.phases.append(PhaseLog(phase, len(self.phases)))
        return self.phases[-1]

    def end(self, results: Sequence[torch.Tensor]) -> None:
        """The phase is over: memory that it leaves behind unwritten was written by somebody unseen."""
        now = self.phases[-1]
        left = self._unwritten & self.storages.alive()
        now.unseen |= any(self.storages.births[number] == now.index for number in left)
        for tensor in results:
            for storage in storages_of(tensor):
                now.unseen |= not self.storages.known(storage)

    def escaped(self, tensor: torch.Tensor, *, writable: bool) -> None:
        """The tensor's memory was handed to code that is not torch's."""
        now = self.phases[-1]
        numbers = self.storages.numbers(tensor)
        now.operations.append(Operation("escape", numbers, (), 0.0, False, True))
        if writable:
            now.unseen = now.handed_out = True
            self._unwritten.difference_update(numbers)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(one is not torch.Tensor and one is not torch.nn.Parameter for one in types):
            return NotImplemented
        if not isinstance(func, torch._ops.OpOverload):
            self.phases[
                -1
            ].unseen = True  # a higher-order operator: a loop or a branch with a body of its own
            return func(*args, **kwargs)
        what = operator(func)
        if what.composite:
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        begin = perf_counter_ns()
        result = func(*args, **kwargs)
        taken = perf_counter_ns() - begin
        if not what.silent and self.phases and not _is_shape_only(result):
            with torch._C.DisableTorchFunction():
                use = self.phases[-1].uses[what.name]
                use.calls += 1
                use.nanoseconds += taken
                self._note(func, what, args, kwargs, result)
        return result

    def _note(
        self, func: Any, what: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        now = self.phases[-1]
        now.calls += 1
        birth = now.index
        read, written = _split(what, args, kwargs)
        results = list(_tensors(result))
        reads = self._numbers(read, birth=birth) if what.lifts else self._numbers(read)
        overwritten = self._numbers(written)
        made = [one for one in results if not all(map(self.storages.known, storages_of(one)))]
        kept = self._numbers(results, birth=birth)
        self._digest(now, what, _settings(args, kwargs), (*read, *written), (*reads, *overwritten, *kept))
        if what.view:
            return
        flops = work_of(func, args, kwargs, result)
        now.flops += flops
        if flops:
            now.skippable += skippable(func, args, kwargs, flops)
            now.add_product(_dtype_name((*read, *written)), flops)
        traffic = traffic_of(what, read=read, written=written, made=made)
        now.traffic += traffic
        now.uses[what.name].flops += flops
        now.uses[what.name].traffic += traffic
        if what.opaque:
            now.uncounted.add(what.name)
            # One that says it neither makes nor writes anything does something that it does not say.
            now.unseen |= not results and not written
        self._note_copy(now, what, read, (*written, *made))
        self._note_memory(now, what, reads, overwritten, kept)
        now.operations.append(
            Operation(
                what.name,
                self._taken(what, reads, overwritten),
                (*overwritten, *kept),
                flops,
                torch._C._current_graph_task_id() != -1,
                not results and not overwritten,
            )
        )

    @staticmethod
    def _taken(what: Operator, reads: tuple[int, ...], overwritten: tuple[int, ...]) -> tuple[int, ...]:
        """Storages whose numbers the result depends on."""
        if what.shapes_only:
            return ()
        return reads if what.overwrites else (*reads, *overwritten)

    def _note_memory(
        self,
        now: PhaseLog,
        what: Operator,
        reads: tuple[int, ...],
        overwritten: tuple[int, ...],
        kept: tuple[int, ...],
    ) -> None:
        now.mutated.update(one for one in overwritten if self.storages.births[one] != now.index)
        if what.unwritten:
            self._unwritten.update(one for one in kept if self.storages.sizes[one])
            return
        self._unwritten.difference_update(overwritten)
        now.unseen |= not what.shapes_only and not self._unwritten.isdisjoint(reads)

    def _note_copy(
        self, now: PhaseLog, what: Operator, read: Sequence[torch.Tensor], filled: Sequence[torch.Tensor]
    ) -> None:
        """Only copies: a kernel may take a number from the host."""
        if not (what.name.startswith(("aten._to_copy.", "aten.copy_.")) and read and filled):
            return
        if read[0].device.type == "cpu" and filled[0].device.type != "cpu" and footprint(filled[0]) > TINY:
            now.copied.append(("a copy to the device", footprint(filled[0])))

    def _numbers(self, tensors: Sequence[torch.Tensor], **birth: int) -> tuple[int, ...]:
        return tuple(one for tensor in tensors for one in self.storages.numbers(tensor, **birth))

    def _digest(
        self,
        now: PhaseLog,
        what: Operator,
        settings: Sequence[Any],
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
    ) -> None:
        """Names, shapes, dtypes, settings, and which storage is which in the order of appearance."""
        shapes = [(tuple(one.shape), one.dtype) for one in tensors]
        places = [now.ordinals.setdefault(one, len(now.ordinals)) for one in numbers]
        now.digest.update(repr((what.name, shapes, settings, places)).encode())


def _split(
    what: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Tensors that are read only, and those that are written."""
    read: list[torch.Tensor] = []
    written: list[torch.Tensor] = []
    for position, value in (*enumerate(args), *kwargs.items()):
        (written if position in what.written else read).extend(_tensors(value))
    return read, written


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


def _is_shape_only(result: Any) -> bool:
    """Tensors without numbers: forward differentiation makes some of its arguments, to learn a shape."""
    return any(tensor.device.type == "meta" for tensor in _tensors(result))


def _dtype_name(tensors: Sequence[torch.Tensor]) -> str:
    return str(tensors[0].dtype).removeprefix("torch.") if tensors else ""


def _settings(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """What may choose other work on the same tensors: whole numbers, words (the tanh of a GELU), dtypes.
    Other numbers, an epsilon or a rate, are computed with."""
    named = ((key, value) for key, value in sorted(kwargs.items()) if _chooses(value))
    return [*filter(_chooses, args), *named]


def _chooses(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(one, int) for one in value)
    return isinstance(value, bool | int | str | torch.dtype | torch.memory_format)
