"""The machine's state: everything the doctor looks at, read and tried out in about three seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from stepmark.instruments.activity import watch
from stepmark.instruments.clock_state import clock_facts
from stepmark.instruments.cpu_quota import quota_facts
from stepmark.instruments.gpu_state import gpu_cards
from stepmark.instruments.jitter_probe import probe
from stepmark.instruments.processor_state import heat_facts, processor_facts, usable_cores
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.instruments.software_state import software_facts
from stepmark.records.machine import MachineFacts, MemoryFacts


def machine_facts(say: Callable[[str], object], *, root: Path = Path("/")) -> MachineFacts:
    """`say` hears what is being done. The clock's frequency is read last, while a core is still warm from the
    probe; activity first, before the probe is part of it."""
    files = PseudoFiles(root)
    say("watching the machine for a second")
    activity = watch(files)
    say("timing a fixed piece of work for two seconds")
    jitter = probe()
    processor = processor_facts(files, usable_cores())
    say("asking the rest")
    return MachineFacts(
        activity=activity,
        processor=processor,
        heat=heat_facts(files),
        quota=quota_facts(files),
        memory=memory_facts(files),
        clock=clock_facts(files),
        software=software_facts(os.environ),
        on_battery=on_battery(files),
        gpus=gpu_cards(),
        jitter=jitter,
    )


def memory_facts(files: PseudoFiles) -> MemoryFacts:
    lines = files.fields("proc/meminfo")
    total, free = (lines.get(name, "").partition(" ")[0] for name in ("SwapTotal", "SwapFree"))
    known = total.isdigit() and free.isdigit()
    choices = files.text("sys/kernel/mm/transparent_hugepage/enabled") or ""
    _, _, chosen = choices.partition("[")
    return MemoryFacts(
        swap_used_bytes=(int(total) - int(free)) * 1024 if known else None,
        huge_pages=chosen.partition("]")[0] or None,
    )


def on_battery(files: PseudoFiles) -> bool | None:
    """A machine without a battery is on mains."""
    if not files.exists("sys/class/power_supply"):
        return None
    batteries = [
        supply
        for supply in files.paths("sys/class/power_supply/*")
        if files.text(f"{supply}/type") == "Battery" and files.text(f"{supply}/scope") != "Device"
    ]
    return any(files.text(f"{battery}/status") == "Discharging" for battery in batteries)
