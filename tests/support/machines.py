"""Machines made by hand: one on which nothing disturbs, to be changed where a test needs it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from stepmark.records.machine import (
    ActivityFacts,
    ClockFacts,
    HeatFacts,
    JitterFacts,
    MachineFacts,
    MemoryFacts,
    ProcessorFacts,
    QuotaFacts,
    SoftwareFacts,
)

QUIET = MachineFacts(
    activity=ActivityFacts(seconds=1.0, load_1m=0.1, busy=(), steal=0.0, swapped_pages=0, throttles=0),
    processor=ProcessorFacts(
        num_cores=8,
        num_usable=8,
        siblings=(),
        governors=("performance",),
        boost=False,
        mhz=3000.0,
        max_mhz=3000.0,
        hypervisor=False,
    ),
    heat=HeatFacts(celsius=45.0, critical_celsius=100.0, throttles=0),
    quota=QuotaFacts(),
    memory=MemoryFacts(swap_used_bytes=0, huge_pages="madvise"),
    clock=ClockFacts(source="tsc", resolution=2e-8, cost=5e-8),
    software=SoftwareFacts(debug_python=False, variables=()),
    on_battery=False,
    gpus=(),
    jitter=JitterFacts(
        num_slices=4000,
        fastest=5e-4,
        slow=0.01,
        very_slow=0.001,
        num_gaps=0,
        longest_gap=0.0,
        seconds=2.0,
    ),
)

SILENT = MachineFacts(
    activity=ActivityFacts(seconds=1.0),
    processor=ProcessorFacts(),
    heat=HeatFacts(),
    quota=None,
    memory=MemoryFacts(),
    clock=ClockFacts(source=None, resolution=2e-8, cost=5e-8),
    software=QUIET.software,
    on_battery=None,
    gpus=None,
    jitter=QUIET.jitter,
)
"""One that says nothing about itself."""


def machine(**parts: Any) -> MachineFacts:
    """The quiet machine with other fields in some of its parts, given as dictionaries, or other parts."""
    changed = {
        name: replace(getattr(QUIET, name), **part) if isinstance(part, dict) else part
        for name, part in parts.items()
    }
    return replace(QUIET, **changed)
