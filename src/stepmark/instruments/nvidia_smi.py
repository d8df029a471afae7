"""The program nvidia-smi: one query in, fields of text out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from stepmark.records.card import STRAIN, CardFacts, CardReading

T = TypeVar("T")

Ask = Callable[[str], str | None]
"""Passes one query to nvidia-smi and returns its comma-separated lines; None where it failed."""


CARD_FIELDS = (
    "clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_throttle_reasons.active,uuid,driver_version,"
    "memory.total,ecc.mode.current,power.limit,clocks.max.sm,clocks.max.mem,name"
)


class CardAnswer(NamedTuple):
    """What the program says of one card, asked for CARD_FIELDS."""

    reading: CardReading
    facts: CardFacts
    reasons: int | None
    """For a low clock, all bits; None where it does not know them."""


def card_answer(line: str) -> CardAnswer | None:
    """None of a line that is no answer."""
    fields = fields_of(line, CARD_FIELDS)
    if fields is None:
        return None
    mhz, memory_mhz, watts, celsius, bits, uuid, driver, memory, ecc, limit, most, most_memory, name = fields
    reasons = number_of(bits, lambda text: int(text, 16))
    reading = CardReading(
        megahertz=number_of(mhz, float),
        memory_megahertz=number_of(memory_mhz, float),
        watts=number_of(watts, float),
        celsius=number_of(celsius, float),
        reasons=(reasons or 0) & STRAIN,
    )
    facts = CardFacts(
        name=name,
        uuid=known(uuid),
        driver=known(driver),
        memory_bytes=bytes_of(memory),
        ecc=switch_of(ecc),
        power_limit_watts=number_of(limit, float),
        max_megahertz=number_of(most, float),
        max_memory_megahertz=number_of(most_memory, float),
    )
    return CardAnswer(reading, facts, reasons)


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
