"""The owner of a run: the process that measures it, told from one that was given its number later."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import psutil

from stepmark.records.record import Record
from stepmark.store.codec import Codec

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SAME_START = 2.0
"""Seconds: a start is the difference of two readings. Numbers come round again much later."""


class Owner(Record, frozen=True, kw_only=True):
    """A process, by everything that sets it apart from others."""

    host: str
    boot: str
    """Of the machine's last start, with which numbers begin anew; empty where the system does not name it."""
    pid: int
    started: float
    """Seconds after the machine started: the time of day may be set, this stays."""


OWNER = Codec(Owner)


def this_process() -> Owner:
    """Whoever asks."""
    pid = os.getpid()
    return Owner(host=platform.node(), boot=_boot(), pid=pid, started=_started(pid) or 0.0)


def is_another(owner: Owner) -> bool:
    """Whether it lives and is not who asks. Of other machines nothing is known, nor of what ran before this
    one was started, nor of processes that a container hides: they count as gone."""
    if owner.pid == os.getpid() or (owner.host, owner.boot) != (platform.node(), _boot()):
        return False
    started = _started(owner.pid)
    return started is not None and abs(started - owner.started) < _SAME_START


def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> float | None:
    """None where no such process lives; one that was killed and whose parent has not looked yet is dead."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.create_time() - psutil.boot_time()
    except psutil.Error:
        return None
