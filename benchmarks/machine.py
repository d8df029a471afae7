"""The line every figure needs: machine, date and versions."""

from __future__ import annotations

import datetime
import importlib.metadata

from stepmark.instruments.host_facts import host_facts
from stepmark.version import VERSION


def machine_line() -> str:
    host = host_facts()
    torch = importlib.metadata.version("torch")
    numpy = importlib.metadata.version("numpy")
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"{today} · {host.cpu_model}, {host.logical_cores} logical cores · {host.python} · "
        f"torch {torch} · numpy {numpy} · stepmark {VERSION}"
    )
