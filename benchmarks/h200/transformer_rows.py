"""Rows of a benchmark that runs in a process of its own: JSON lines, collected and shown."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any


def lines_of(module: str, words: list[str], seconds: float) -> list[dict[str, Any]]:
    """JSON lines of a module's process; what was printed before a limit or a failure counts."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", module, *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        out, err, status = done.stdout, done.stderr, f"exit {done.returncode}"
    except subprocess.TimeoutExpired as late:
        out, err = (_text(one) for one in (late.stdout, late.stderr))
        status = f"ended after {seconds} s"
    took = time.perf_counter() - begin
    print(f"{' '.join(words)}: {status}, {took:.0f} s", flush=True)
    if status != "exit 0":
        print(err[-1500:], flush=True)
    rows = []
    for line in out.splitlines():
        if line.startswith("{"):
            rows.append(json.loads(line))
        else:
            print(line[:300], flush=True)
    for row in rows:
        print(words_of(row), flush=True)
    return rows


def _text(given: bytes | str | None) -> str:
    return given.decode(errors="replace") if isinstance(given, bytes) else given or ""


def words_of(row: dict[str, Any]) -> str:
    shown = {
        name: value
        for name, value in row.items()
        if name not in ("ms_rounds", "losses", "reserved_bytes", "together", "batch")
    }
    for name in ("peak_bytes", "pool_bytes"):
        if name in shown:
            shown[name] = f"{shown[name] / 1e9:.2f}e9"
    return "  " + " ".join(f"{name}={value}" for name, value in shown.items())
