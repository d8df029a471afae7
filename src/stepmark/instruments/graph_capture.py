"""Capturing: a program's calls recorded once into CUDA graphs, and the graphs replayed in their place.

A program with a whole becomes one graph, and the whole its only phase: inside a replay there is no moment at
which a phase ends. Where iterations alternate, the graph holds one of each. Operations, and a forward pass,
have a graph each. Capturing happens in the first call: WARM_UP iterations run as they are on a stream of
their own, where libraries choose kernels, compilers compile and optimizers make their state; the last of them
under torch's watch for waits, whose traceback names the line that a graph could not hold. Then an iteration,
or one of each, is captured.

Replays of a graph with one tiny kernel follow each other every 4.7 µs on an H200, whatever the kernel takes.
So a graph of a short operation, or forward pass, holds it REPEATS times, as it would be one of many in a
graph of a model; its time is divided by that. Not where caches are to be cold: only the first of them would
be.

What a replay repeats: kernels, their memory and their order. Random numbers go on from replay to replay.
Gradients are None when an iteration is captured, so that every replay writes its own. What Python does beside
launching is not repeated.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import torch

from stepmark.errors import Uncapturable
from stepmark.measure.program import Call, Program
from stepmark.records.evidence import Evidence
from stepmark.records.sample import Layout

WARM_UP = 3
"""Iterations before the capture; the first of them may compile."""
REPEATS = 10
SHORT = 0.002
"""Seconds of an eager call from which a graph holds it once: a replay's own cost is then 0.2 % of it."""

_REASONS = {
    "synchroniz": "it waits for the device",
    "when stream is capturing": "it waits for the device, or uses what a stream under capture cannot",
    "capturable": "its optimizer counts steps on the host, and has no `capturable` that could be set",
    "generator": "it draws random numbers from a generator that the graph does not know",
}
"""By what torch says, in lower case."""


def capture(program: Program, device: torch.device, *, repeats: int = REPEATS) -> Program:
    """The same iteration as replays; short calls without a whole `repeats` times a graph."""
    layout = program.layout
    if layout.whole is None:
        names = layout.phases
        calls = tuple(
            Replay({name: call}, prepare=None, device=device, repeats=repeats)
            for name, call in zip(names, program.calls, strict=True)
        )
        return replace(program, calls=calls)
    names = tuple(phase for phase in layout.phases if phase != layout.whole)
    whole = Layout(phases=(layout.whole,), primary=layout.whole)
    each = dict(zip(names, program.calls, strict=True))
    cycle = program.cycle if repeats > 1 else 1
    return replace(
        program,
        layout=whole,
        calls=(Replay(each, prepare=program.prepare, device=device, cycle=cycle),),
        prepare=None,
        cycle=1,
        inspect=_with_layout(program.inspect, whole) if program.inspect else None,
    )


def make_capturable(optimizer: Any) -> None:
    """Optimizers of torch that count their steps on the host can count on the device, if told before the
    first one."""
    for group in getattr(optimizer, "param_groups", ()):
        if group.get("capturable") is False:
            group["capturable"] = True


def _with_layout(inspect: Callable[[], Evidence], layout: Layout) -> Callable[[], Evidence]:
    return lambda: msgspec.structs.replace(inspect(), layout=layout)


class Replay:
    """One or several calls as a graph, captured when first called."""

    def __init__(
        self,
        calls: Mapping[str, Call],
        *,
        prepare: Call | None,
        device: torch.device,
        repeats: int = 1,
        cycle: int = 1,
    ) -> None:
        """`repeats` is how often the graph holds the calls if they are short, `cycle` otherwise."""
        self._calls, self._prepare, self._device = calls, prepare, device
        self._repeats, self._cycle = repeats, cycle
        self.times = 1
        """How often the graph holds them, once it is there."""
        self._graph: torch.cuda.CUDAGraph | None = None
        self._replay: Call = self._first

    def __call__(self) -> None:
        self._replay()

    @property
    def pool(self) -> Any:
        """The graph's private memory pool; None before the first call."""
        return None if self._graph is None else self._graph.pool()

    def _first(self) -> None:
        stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        current = torch.cuda.current_stream(self._device)
        stream.wait_stream(current)
        with torch.cuda.device(self._device), torch.cuda.stream(stream):
            for number in range(WARM_UP):
                with _waits_refused(number == WARM_UP - 1):
                    self._iterate()
            if self._prepare is not None:
                self._prepare()
            short = self._repeats > 1 and self._seconds() < SHORT
        current.wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The CUDA Graph is empty")
            self._capture(graph, stream, times := self._repeats if short else self._cycle)
        self.times = times
        self._graph, self._replay = graph, graph.replay
        self._replay()

    def _capture(self, graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream, times: int) -> None:
        current = torch.cuda.current_stream(self._device)
        try:
            # A capture whose end fails leaves its stream the current one: another context puts that back.
            with (
                torch.cuda.device(self._device),
                torch.cuda.stream(current),
                torch.cuda.graph(graph, stream=stream),
            ):
                for number in range(times):
                    if number and self._prepare is not None:
                        self._prepare()
                    self._each_call()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if error.__context__ is not None:  # ending a capture that something broke fails as well
                raise error.__context__ from None
            raise _cannot("the end of the capture", error) from error

    def _seconds(self) -> float:
        """Of the calls as they are, until they are done."""
        torch.cuda.synchronize(self._device)
        begin = time.perf_counter()
        self._each_call()
        torch.cuda.synchronize(self._device)
        return time.perf_counter() - begin

    def _iterate(self) -> None:
        if self._prepare is not None:
            self._prepare()
        self._each_call()

    def _each_call(self) -> None:
        refusing = torch.cuda.is_current_stream_capturing() or torch.cuda.get_sync_debug_mode() == 2
        for name, call in self._calls.items():
            try:
                call()
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                if refusing and _is_about_capture(error):
                    raise _cannot(name, error) from error
                raise


def _is_about_capture(error: RuntimeError) -> bool:
    text = str(error).lower()
    return torch.cuda.is_current_stream_capturing() or any(sign in text for sign in _REASONS)


def _cannot(where: str, error: RuntimeError) -> Uncapturable:
    text = str(error).strip()
    first = text.partition("\n")[0]
    reason = next((why for sign, why in _REASONS.items() if sign in text.lower()), "")
    return Uncapturable(
        f"cannot be captured into a CUDA graph: in {where}{f' {reason}' if reason else ''} ({first})"
    )


@contextmanager
def _waits_refused(really: bool) -> Iterator[None]:
    """Torch raises where the host would wait for the device."""
    if not really:
        yield
        return
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
