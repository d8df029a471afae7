"""Orphans: what workers started in sessions of its own and left behind, which killing their group misses.

The kernel hands orphans to the nearest ancestor that asks for them. The fork server does, and ends them:
nobody else knows where they come from, and they would run beside every measurement that follows.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Collection

import psutil

_PR_SET_CHILD_SUBREAPER = 36


class Orphans:
    """Of the process that makes it."""

    def __init__(self) -> None:
        self._spared: set[int] = set()
        if sys.platform.startswith("linux"):
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def spare(self, *, workers: Collection[int] = ()) -> None:
        """Whatever lives now is no orphan: imported modules have started it for themselves."""
        self._spared = {child.pid for child in psutil.Process().children()} - {*workers}

    def end(self, *, workers: Collection[int] = ()) -> None:
        """Kill them with all that they started; to be called when no worker lives but those, which have not
        begun to work, or none is to."""
        if not _has_children():
            return
        kept = {*self._spared, *workers}
        adopted = [child for child in psutil.Process().children() if child.pid not in kept]
        for orphan in adopted:
            for process in [*_descendants(orphan), orphan]:
                with contextlib.suppress(psutil.Error):
                    process.kill()


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _has_children() -> bool:
    """Without looking through all processes of the machine, as there are none most of the time."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
