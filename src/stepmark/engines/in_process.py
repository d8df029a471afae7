"""The engine without workers: plain iterations of a case in this very process, for a profiler outside it.

Nothing is caught, clocked or reported: what the case raises ends the process, where the profiler sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch

from stepmark.authoring.load import check, load
from stepmark.authoring.suite import Suite
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_facts import resolve_device, torch_facts
from stepmark.instruments.torch_ranges import can_emit, captured_range, with_ranges
from stepmark.measure.profile_assignment import TracingAssignment
from stepmark.measure.protocol import Described
from stepmark.records.source import Source

WARMUP = 3
"""Iterations before the profiler is told to begin: allocation, lazy set-up, compilation."""


class InProcessEngine:
    """Runs cases here and now; asked to describe first, so that a bench file is imported once."""

    def __init__(self, threads: int | None) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self._suites: dict[str, Suite] = {}

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        """What the sources define."""
        suites = [(index, suite) for index, source in enumerate(sources) for suite in load(source)]
        check(suite for _, suite in suites)
        self._suites = {suite.name: suite for _, suite in suites}
        outlines = tuple(suite.outline(index) for index, suite in suites)
        return Described(suites=outlines, torch=torch_facts(), device=resolve_device(device))

    def iterate(self, assignment: TracingAssignment) -> bool:
        """Warm up, then the iterations, between the marks that Nsight waits for; whether the phases had NVTX
        ranges."""
        case, device = assignment.case, assignment.case.cell.device
        variant = self._suites[case.cell.suite].variants[case.variant]
        # A graph holds a short call once: a profiler outside counts what it sees in a range.
        program = bind(variant, case, seed=Random(assignment.seed).getrandbits(31), repeats=1)
        for _ in range(WARMUP):
            program.iterate()
        ranged = with_ranges(program, device) if assignment.nvtx else program
        with captured_range(device):
            for _ in range(assignment.iterations):
                ranged.iterate()
        return assignment.nvtx and can_emit(device)
