"""Prediction: what would not fit, or would take too long, is refused before anything of it is made.

Memory is compared with what the device has left at this moment, in a container with the container's limit.
Time is the stated work over the rate of a matrix product timed here and now, which flatters: real steps reach
a part of it, so what is refused is really hopeless. The probe takes milliseconds and is made for large work.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import psutil
import torch

from stepmark.authoring.needs import Needs
from stepmark.errors import TooLarge, TooLong
from stepmark.instruments.device_memory import available_memory

GIB = 2.0**30
SHARE = 0.9
"""Of the memory that is left; the rest is the process's own."""
LONGEST_STEP = 30.0
"""Seconds. A launch takes at least eleven steps of every lane, and a verdict at least five launches: half an
hour for one cell."""
LARGE = 1e11
"""Operations below which no device takes long."""
PROBE = {"cpu": 512, "cuda": 4096}
"""Sizes of the product: an accelerator is not busy with less, and launching would be timed."""


def refuse_hopeless(needs: Needs, *, device: torch.device, dtype: torch.dtype) -> None:
    """Raise TooLarge or TooLong where the needs cannot be met."""
    left = _memory_left(device)
    if needs.memory > SHARE * left:
        raise TooLarge(
            f"would need about {needs.memory / GIB:.1f} GiB, and {left / GIB:.1f} GiB are left: not tried"
        )
    if needs.flops <= LARGE:
        return
    rate = _rate(device, dtype)
    seconds = needs.flops / rate
    if seconds > LONGEST_STEP:
        raise TooLong(
            f"a step would take {seconds:.0f} s or more "
            f"({needs.flops:.1e} operations at {rate:.1e} a second): not tried"
        )


def _memory_left(device: torch.device) -> float:
    if device.type == "cuda":
        # What the process holds without using it can be used again.
        return float(available_memory(device) - torch.cuda.memory_allocated(device))
    return min(float(psutil.virtual_memory().available), _group_memory_left())


def _group_memory_left(group: Path = Path("/sys/fs/cgroup")) -> float:
    """What a container's memory limit leaves; without a limit, infinity."""
    try:
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no such group, or its limit is the word `max`
        return math.inf
    return float(max(0, limit - used))


def _rate(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of a square matrix product, the fastest of three."""
    size = PROBE[device.type]
    left, right = (torch.ones(size, size, device=device, dtype=dtype) for _ in range(2))
    spent = []
    for _ in range(3):
        begin = time.perf_counter()
        product = left @ right
        if device.type == "cuda":
            product[0, 0].item()
        spent.append(time.perf_counter() - begin)
    return 2.0 * size**3 / min(spent)
