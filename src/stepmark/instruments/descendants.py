"""Descendants: processes that a worker started and that still live when it is done."""

from __future__ import annotations

import psutil


def descendants_seconds() -> float:
    """Processor time of all of them so far, and of what they have waited for themselves."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            spent = process.cpu_times()
        except psutil.Error:
            continue
        total += spent.user + spent.system + spent.children_user + spent.children_system
    return total
