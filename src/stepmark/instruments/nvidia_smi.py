"""The program nvidia-smi: one query in, fields of text out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

Ask = Callable[[str], str | None]
"""Passes one query to nvidia-smi and returns its comma-separated lines; None where it failed."""


def ask_smi(query: str) -> str | None:
    try:
        done = subprocess.run(
            ["nvidia-smi", *query.split(), "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def fields_of(line: str, wanted: str) -> list[str] | None:
    """As many as were asked for; the last may hold commas itself."""
    names = wanted.split(",")
    fields = [field.strip() for field in line.split(",", len(names) - 1)]
    return fields if len(fields) == len(names) else None


def number_of(text: str, read: Callable[[str], T]) -> T | None:
    """None of `[N/A]`."""
    try:
        return read(text)
    except ValueError:
        return None


def text_of(name: str | bytes | None) -> str:
    """Older bindings answer in bytes."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name or ""


def known(text: str) -> str | None:
    """None of `[N/A]` and of nothing."""
    return text if text and not text.startswith("[") else None


def bytes_of(mebibytes: str) -> int | None:
    number = number_of(mebibytes, int)
    return None if number is None else number << 20


def switch_of(text: str) -> bool | None:
    """Of `Enabled` and `Disabled`."""
    return {"Enabled": True, "Disabled": False}.get(text)
