"""torch.profiler at work: named ranges around phases, recordings, and their Chrome traces.

The host's operators are recorded and every allocation; on an accelerator also its kernels. Shapes and stacks
are not: they make recording dearer (torch.profiler's own documentation), and nothing here needs them.
"""

from __future__ import annotations

import gzip
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from stepmark.instruments.chrome_trace import PHASE, read_chrome_trace
from stepmark.measure.profiler import around_phases, called_phases
from stepmark.measure.program import Call, Program
from stepmark.records.profile import Trace
from stepmark.records.sample import Layout


class TorchProfiler:
    """torch's own profiler, set up the same way for every recording."""

    def __init__(self, device: str) -> None:
        self._accelerator = device if device != "cpu" else None
        self._activities = [ProfilerActivity.CPU]
        if self._accelerator is not None:
            self._activities.append(ProfilerActivity.CUDA)
        self._last: Any = None
        self._held_bytes = 0

    def annotate(self, program: Program, *, wait: bool) -> Program:
        """With a range of record_function around every phase."""
        synchronise = self._synchronise() if wait else None
        return around_phases(program, lambda name, call: partial(_ranged, name, call, synchronise))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Profile what is done inside."""
        if self._accelerator is not None:
            self._held_bytes = torch.cuda.memory_allocated(self._accelerator)
        session = profile(activities=self._activities, profile_memory=True)
        with warnings.catch_warnings():
            # torch 2.11 says at every start that the recording before it is lost, as it is meant to be.
            warnings.simplefilter("ignore", UserWarning)
            session.start()
        try:
            yield
        finally:
            session.stop()
        self._last = session

    def trace(self, layout: Layout, *, file: str | None) -> Trace:
        """Of the last recording. A file whose name ends in .gz is compressed; Perfetto reads both."""
        with tempfile.TemporaryDirectory(prefix="stepmark-") as folder:
            exported = Path(folder) / "trace.json"
            self._last.export_chrome_trace(str(exported))
            text = exported.read_bytes()
        if file is not None:
            Path(file).write_bytes(gzip.compress(text) if file.endswith(".gz") else text)
        return read_chrome_trace(
            text,
            called_phases(layout),
            on_device=self._accelerator is not None,
            held_bytes=self._held_bytes,
        )

    def _synchronise(self) -> Call | None:
        return None if self._accelerator is None else partial(torch.cuda.synchronize, self._accelerator)


def _ranged(name: str, call: Call, synchronise: Call | None) -> None:
    with record_function(f"{PHASE}{name}"):
        call()
        if synchronise is not None:
            synchronise()
