"""An accelerator card around a measurement: what it is, how fast it ran, and what held it down."""

from __future__ import annotations

from collections.abc import Iterable

from stepmark.records.record import Record
from stepmark.records.sample import pack, unpack

SLOWED_BY = {
    0x02: "clocks set by an application",
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "synchronised boost",
    0x20: "heat (software)",
    0x40: "heat (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Reasons for a low clock by NVML's bit. Bit 0x01, idle, is left out: a card that rests clocks down."""
STRAIN = 0x04 | 0x08 | 0x20 | 0x40 | 0x80
"""Reasons that come with work, not with settings: power, heat, and the hardware's own."""
UNKNOWN = -1
"""Stands for a number that could not be read, in packed columns."""


def reasons_named(bits: int) -> tuple[str, ...]:
    """The reasons that these bits stand for."""
    return tuple(name for bit, name in SLOWED_BY.items() if bits & bit)


class CardFacts(Record, frozen=True, kw_only=True):
    """What does not change in the course of a run; None is what could not be read."""

    name: str
    uuid: str | None = None
    driver: str | None = None
    memory_bytes: int | None = None
    ecc: bool | None = None
    """Whether memory errors are corrected, which costs bandwidth on some cards."""
    power_limit_watts: float | None = None
    max_megahertz: float | None = None
    """Of the multiprocessors."""
    max_memory_megahertz: float | None = None


class CardReading(Record, frozen=True, kw_only=True):
    """A card at one moment; None is what could not be read, or was not asked for."""

    megahertz: float | None = None
    """Of the multiprocessors."""
    memory_megahertz: float | None = None
    watts: float | None = None
    celsius: float | None = None
    reasons: int = 0
    """NVML's bits of what holds the clock down, settings and idleness left out."""
    processes: int | None = None
    """That compute on the card, the measured ones among them."""


class CardReadings(Record, frozen=True, kw_only=True):
    """Readings right after some of a lane's blocks, in packed columns: a label for these blocks."""

    rounds: bytes
    clocks: bytes
    """Megahertz of the multiprocessors."""
    milliwatts: bytes
    strain: bytes
    """NVML's bits of what held the clock down for power or heat."""

    def held_below(self, megahertz: float) -> tuple[tuple[int, int], ...]:
        """Clock and reasons of the readings in which power or heat held the clock below that, or it is not
        known where."""
        seen = zip(unpack(self.clocks), unpack(self.strain), strict=True)
        return tuple((clock, bits) for clock, bits in seen if bits and clock < megahertz)


def pack_readings(readings: Iterable[tuple[int, CardReading]]) -> CardReadings | None:
    """From the readings with the numbers of their rounds; None where there are none."""
    listed = list(readings)
    if not listed:
        return None
    return CardReadings(
        rounds=pack(number for number, _ in listed),
        clocks=pack(_whole(reading.megahertz) for _, reading in listed),
        milliwatts=pack(_whole(reading.watts, 1000.0) for _, reading in listed),
        strain=pack(reading.reasons for _, reading in listed),
    )


def _whole(value: float | None, times: float = 1.0) -> int:
    return UNKNOWN if value is None else round(value * times)
