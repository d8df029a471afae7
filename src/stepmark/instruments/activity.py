"""Activity: what the machine did during a short watch, as differences of the kernel's counters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stepmark.instruments.processor_state import throttles
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.records.machine import ActivityFacts, BusyProcess

WATCH_SECONDS = 1.0
LEAST_BUSY = 0.05
"""Cores: whoever uses less is not named."""
_STEAL = 7
"""Place of stolen time in the line `cpu` of /proc/stat; guest time behind it is part of user time already."""
_USER_TICKS, _SYSTEM_TICKS = 11, 12
"""Places behind the closing bracket of /proc/PID/stat (proc_pid_stat(5) counts from 1 and from the front)."""


@dataclass(frozen=True, kw_only=True)
class _Counters:
    stolen: int | None
    spent: int | None
    """Ticks of all kinds, over all cores."""
    swapped: int | None
    throttles: int | None
    processes: Mapping[int, tuple[str, int]] | None
    """Name and ticks by process id."""


def watch(
    files: PseudoFiles,
    *,
    sleep: Callable[[float], object] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    ticks_per_second: int | None = None,
    own: int | None = None,
) -> ActivityFacts:
    """Two readings of the counters, a second apart; the process `own`, by default this one, is left out."""
    begin, before = now(), _read(files)
    sleep(WATCH_SECONDS)
    seconds, after = now() - begin, _read(files)
    spent = _difference(before.spent, after.spent)
    stolen = _difference(before.stolen, after.stolen)
    ticks = ticks_per_second or os.sysconf("SC_CLK_TCK")
    return ActivityFacts(
        seconds=seconds,
        load_1m=_load(files),
        busy=_busy(before, after, ticks=ticks * seconds, own=os.getpid() if own is None else own),
        steal=stolen / spent if stolen is not None and spent else None,
        swapped_pages=_difference(before.swapped, after.swapped),
        throttles=_difference(before.throttles, after.throttles),
    )


def _read(files: PseudoFiles) -> _Counters:
    ticks = machine_ticks(files)
    pages = files.fields("proc/vmstat")
    swapped = [pages.get(name, "") for name in ("pswpin", "pswpout")]
    return _Counters(
        stolen=ticks[_STEAL] if len(ticks) > _STEAL else None,
        spent=sum(ticks) if ticks else None,
        swapped=sum(map(int, swapped)) if all(text.isdigit() for text in swapped) else None,
        throttles=throttles(files),
        processes=_processes(files),
    )


def machine_ticks(files: PseudoFiles) -> list[int]:
    """The line `cpu` of /proc/stat without its guest times: ticks since boot, over all cores, by kind."""
    first = (files.text("proc/stat") or "").partition("\n")[0].split()
    return [int(field) for field in first[1:9] if field.isdigit()] if first[:1] == ["cpu"] else []


def process_fields(text: str) -> list[str]:
    """What stands in /proc/PID/stat behind the process's name, which may hold brackets and blanks itself."""
    return text.rpartition(") ")[2].split() if ") " in text else []


def _processes(files: PseudoFiles) -> Mapping[int, tuple[str, int]] | None:
    found: dict[int, tuple[str, int]] = {}
    for text in files.texts("proc/[0-9]*/stat"):
        pid, _, rest = text.partition(" (")
        name, fields = rest.rpartition(") ")[0], process_fields(text)
        if pid.isdigit() and len(fields) > _SYSTEM_TICKS:
            found[int(pid)] = (name, int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS]))
    return found or None


def _busy(before: _Counters, after: _Counters, *, ticks: float, own: int) -> tuple[BusyProcess, ...] | None:
    """A process that began during the watch spent all its ticks in it."""
    if before.processes is None or after.processes is None or ticks <= 0:
        return None
    found = []
    for pid, (name, total) in after.processes.items():
        cores = (total - before.processes.get(pid, (name, 0))[1]) / ticks
        if pid != own and cores >= LEAST_BUSY:
            found.append(BusyProcess(pid=pid, name=name, cores=cores))
    return tuple(sorted(found, key=lambda process: -process.cores))


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _load(files: PseudoFiles) -> float | None:
    first = (files.text("proc/loadavg") or "").partition(" ")[0]
    try:
        return float(first)
    except ValueError:
        return None
