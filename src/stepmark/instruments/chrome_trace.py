"""A Chrome trace as torch.profiler writes it, read into phases, operations, kernels and allocations.

What is read, by the category of an event:

    user_annotation                 a range of record_function; phases are those whose name begins with PHASE
    cpu_op                          an operator of torch or a compiled region on the host, nested by time
    kernel, gpu_memcpy, gpu_memset  work on an accelerator; its `External id` is its operator's
    cpu_instant_event               `[memory]`: bytes taken, or given back, on a type of device

The file is the profiler's one public, lasting format; its objects in Python differ from version to version.
Stamps are microseconds with three decimals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from stepmark.records.profile import Allocations, Spans, Trace
from stepmark.records.sample import pack

PHASE = "phase:"
"""What the name of a phase's range begins with, so that it cannot be a user's own."""
ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_MEMORY = "[memory]"
_HOUSEKEEPING = "profiler::"
"""The profiler's own operators."""
_HOST_DEVICE_TYPE = 0
"""torch's number of the CPU."""


class _Arguments(msgspec.Struct):
    external_id: int | None = msgspec.field(default=None, name="External id")
    num_bytes: int = msgspec.field(default=0, name="Bytes")
    device_type: int = msgspec.field(default=_HOST_DEVICE_TYPE, name="Device Type")


class _Event(msgspec.Struct):
    name: str = ""
    cat: str = ""
    ts: float = 0.0
    dur: float = 0.0
    tid: int | str = 0
    args: _Arguments = msgspec.field(default_factory=_Arguments)


class _Document(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents")


def read_chrome_trace(text: bytes, phases: Sequence[str], *, on_device: bool, held_bytes: int = 0) -> Trace:
    """The trace of these phases; allocations are the device's, the host's where there is none."""
    events = sorted(
        msgspec.json.decode(text, type=_Document).events, key=lambda event: (event.ts, -event.dur)
    )
    wanted = {f"{PHASE}{phase}" for phase in phases}
    ranges = [event for event in events if event.cat == "user_annotation" and event.name in wanted]
    if not ranges:
        raise RuntimeError("the profiler recorded none of the phases: does another one run in this process?")
    operations = [event for event in events if _is_operation(event)]
    kernels = [event for event in events if event.cat in ON_DEVICE]
    memory = [
        event
        for event in events
        if event.name == _MEMORY and (event.args.device_type != _HOST_DEVICE_TYPE) == on_device
    ]
    columns = _Columns(origin=ranges[0].ts)
    places = {event.args.external_id: place for place, event in enumerate(operations)} | {None: -1, 0: -1}
    return Trace(
        phases=columns.spans(ranges),
        operations=columns.spans(operations),
        kernels=columns.spans(kernels),
        launched_by=pack(places.get(event.args.external_id, -1) for event in kernels),
        allocations=Allocations(
            times=pack(columns.nanoseconds(event.ts) for event in memory),
            changes=pack(event.args.num_bytes for event in memory),
        ),
        names=tuple(columns.names),
        held_bytes=held_bytes,
    )


def _is_operation(event: _Event) -> bool:
    return event.cat == "cpu_op" and not event.name.startswith(_HOUSEKEEPING)


class _Columns:
    """Spans as packed columns over one list of names."""

    def __init__(self, origin: float) -> None:
        self._origin = origin
        self.names: dict[str, int] = {}
        self._tracks: dict[int | str, int] = {}

    def nanoseconds(self, microseconds: float) -> int:
        return round((microseconds - self._origin) * 1000.0)

    def spans(self, events: Iterable[_Event]) -> Spans:
        events = list(events)
        return Spans(
            names=pack(self._name(event.name.removeprefix(PHASE)) for event in events),
            starts=pack(self.nanoseconds(event.ts) for event in events),
            ends=pack(self.nanoseconds(event.ts + event.dur) for event in events),
            tracks=pack(self._tracks.setdefault(event.tid, len(self._tracks)) for event in events),
        )

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))
