"""The pace of a device: its clock frequency and what holds it down, read while it is warm.

A processor is read by its fastest core, an accelerator through gpu_state.py; nothing is ever set.
"""

from __future__ import annotations

from functools import partial

from stepmark.instruments.gpu_state import gpu_clock
from stepmark.instruments.processor_state import megahertz
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.measure.launch import Pace
from stepmark.measure.protocol import Paced


def pace_of(device: str) -> Pace:
    """What reads the pace of this device."""
    return partial(processor_pace, PseudoFiles()) if device == "cpu" else partial(gpu_pace, device)


def processor_pace(files: PseudoFiles) -> Paced:
    return Paced(megahertz=megahertz(files))


def gpu_pace(device: str) -> Paced:
    clock = gpu_clock(int(device.partition(":")[2] or 0))
    return Paced() if clock is None else Paced(megahertz=clock.mhz, slowed_by=clock.strained_by)
