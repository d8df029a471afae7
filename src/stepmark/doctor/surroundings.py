"""What surrounds the code: memory, clock, GPU, Python build and environment variables."""

from __future__ import annotations

from stepmark.doctor.text import listed, span
from stepmark.doctor.unknown import unknown
from stepmark.records.card import CardFacts
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.machine import GpuCard, MachineFacts

SLOW_CLOCKS = ("hpet", "acpi_pm", "refined-jiffies", "jiffies")
COSTLY_READING = 1e-6
"""Seconds: 0.2 % of a block of 0.5 ms, where block_size.py wants the clock below 0.1 %."""
SLOWING = ("CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")
"""Variables that are for debugging: set to anything but 0, they make everything slower."""


def check_swap(facts: MachineFacts) -> Diagnosis:
    meaning = "a page that comes from disk takes far longer than one in memory"
    used, moved = facts.memory.swap_used_bytes, facts.activity.swapped_pages
    if used is None and moved is None:
        return unknown(Check.SWAP, meaning)
    state = State.WARNING if moved else State.NOTICE if used else State.OK
    return Diagnosis(
        check=Check.SWAP,
        state=state,
        seen=f"{(used or 0) >> 20} MiB in use, {moved or 0} pages moved just now"
        if used or moved
        else "not in use",
        meaning=meaning,
        remedy=""
        if state is State.OK
        else "free memory, then empty the swap: `sudo swapoff -a && sudo swapon -a`",
    )


def check_huge_pages(facts: MachineFacts) -> Diagnosis:
    meaning = "whether a tensor gets large pages is luck, and may differ from launch to launch"
    chosen = facts.memory.huge_pages
    if chosen is None:
        return unknown(Check.HUGE_PAGES, meaning)
    always = chosen == "always"
    return Diagnosis(
        check=Check.HUGE_PAGES,
        state=State.NOTICE if always else State.OK,
        seen=chosen,
        meaning=meaning,
        remedy="write madvise to /sys/kernel/mm/transparent_hugepage/enabled for steadier levels"
        if always
        else "",
    )


def check_clock(facts: MachineFacts) -> Diagnosis:
    clock = facts.clock
    slow = clock.source in SLOW_CLOCKS or clock.cost >= COSTLY_READING
    name = clock.source or "source unknown"
    return Diagnosis(
        check=Check.CLOCK,
        state=State.WARNING if slow else State.OK,
        seen=f"{name}, resolves {span(clock.resolution)}, a reading takes {span(clock.cost)}",
        meaning="reading a slow clock takes part of what it measures; blocks must be longer to hide it",
        remedy="where the kernel offers tsc, write it to current_clocksource below "
        "/sys/devices/system/clocksource/clocksource0"
        if slow
        else "",
    )


def check_gpu(facts: MachineFacts) -> Diagnosis:
    meaning = "other work on a GPU, heat and power limits change its speed from one moment to the next"
    cards = facts.gpus
    if cards is None:
        return unknown(Check.GPU, meaning)
    if not cards:
        return Diagnosis(check=Check.GPU, state=State.OK, seen="no NVIDIA GPU", meaning=meaning)
    troubled = [card for card in cards if card.processes or card.slowed_by]
    return Diagnosis(
        check=Check.GPU,
        state=State.WARNING if troubled else State.OK,
        seen="; ".join(_card(card) for card in troubled or cards),
        meaning=meaning,
        remedy="end the other processes, let it cool, or choose another card with CUDA_VISIBLE_DEVICES"
        if troubled
        else "",
    )


def _card(card: GpuCard) -> str:
    parts = [card.name]
    if card.mhz is not None and card.max_mhz is not None:
        parts.append(f"{card.mhz:.0f} of {card.max_mhz:.0f} MHz")
    if card.memory_mhz is not None:
        parts.append(f"memory {card.memory_mhz:.0f} MHz")
    if card.watts is not None:
        limit = card.facts.power_limit_watts if card.facts else None
        parts.append(f"{card.watts:.0f} W" if limit is None else f"{card.watts:.0f} of {limit:.0f} W")
    if card.celsius is not None:
        parts.append(f"{card.celsius:.0f} degrees")
    parts += _lasting(card.facts) if card.facts is not None else []
    if card.slowed_by:
        parts.append(f"slowed by {' and '.join(card.slowed_by)}")
    if card.processes:
        names = listed([f"{process.name or 'process'} ({process.pid})" for process in card.processes])
        parts.append(f"computing for {names}")
    elif card.processes is not None:
        parts.append("nobody else on it")
    return ", ".join(parts)


def _lasting(facts: CardFacts) -> list[str]:
    """What a run under the same name may differ in from card to card."""
    parts = [] if facts.memory_bytes is None else [f"{facts.memory_bytes / 2**30:.0f} GiB"]
    parts += [] if facts.ecc is None else ["ECC on" if facts.ecc else "ECC off"]
    parts += [] if facts.driver is None else [f"driver {facts.driver}"]
    return [*parts, *([] if facts.uuid is None else [facts.uuid])]


def check_python(facts: MachineFacts) -> Diagnosis:
    debug = facts.software.debug_python
    return Diagnosis(
        check=Check.PYTHON,
        state=State.WARNING if debug else State.OK,
        seen="a debug build" if debug else "a release build",
        meaning="a debug build makes everything that is not a kernel several times slower",
        remedy="measure with a release build" if debug else "",
    )


def check_variables(facts: MachineFacts) -> Diagnosis:
    found = facts.software.variables
    slowing = [name for name, value in found if name in SLOWING and value != "0"]
    return Diagnosis(
        check=Check.VARIABLES,
        state=State.WARNING if slowing else State.NOTICE if found else State.OK,
        seen=", ".join(f"{name}={value}" for name, value in found)
        or "none of those that change torch's speed",
        meaning="they change torch's threads, kernels, precision or allocator; a run records them",
        remedy=f"unset {', '.join(slowing)}: for debugging only"
        if slowing
        else "make sure that they are meant"
        if found
        else "",
    )
