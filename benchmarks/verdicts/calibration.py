"""Calibration: what one empty turn costs beside one call of a workload, and the check of doses made from it.

Price.  Lanes base and base + K turns side by side, K chosen so that the slowdown is about 30 %: the price of
        a turn is (ratio - 1) / K, with the interval of the ratio. A dose of n turns is n prices, by counting.
Anew.   What a turn costs beside a call changes with the machine's mood, by a factor of three on a shared one.
        Right before each slowed comparison the price is therefore measured again, for some seconds.
Check.  One more run with lanes base, 2 %, 5 % and 10 %: the size measured beside the size counted.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from benchmarks.verdicts.ours import Engines, lanes_of, read_launches, record, settings_for
from benchmarks.verdicts.results import short
from stepmark.records.record import Record
from stepmark.stats.student import exponentiate, t_interval

NAME = "calibration.json"
CHECKED = (0.02, 0.05, 0.1)
CONFIDENCE = 0.95
_GUESS = 1000
_SLOWDOWN = 0.3
ANEW = 4.0
"""Seconds of measuring a price again."""
_SHARES = {"guess": 0.1, "price": 0.5, "check": 0.4}
"""Of the time given."""
_LEAST = 2.0
"""Seconds: less would not do for two launches."""


class Size(Record, frozen=True, kw_only=True):
    """A relative slowdown with its interval."""

    point: float
    low: float
    high: float


class Checked(Record, frozen=True, kw_only=True):
    """One dose: what was wanted, counted and measured."""

    effect: float
    turns: int
    measured: Size


class Price(Record, frozen=True, kw_only=True):
    """The price of a turn in one workload."""

    workload: str
    threads: int
    base_seconds: float
    turn: Size
    """Relative to one call."""
    checks: tuple[Checked, ...]

    def turns(self, effect: float) -> int:
        return round(effect / self.turn.point)


def calibrate(workload: str, *, threads: int, seconds: float, seed: int, engines: Engines) -> Price:
    """Measure the price of a turn, then doses made from it."""

    def sizes(doses: dict[str, int], part: str) -> tuple[dict[str, Size], float]:
        settings = settings_for(threads, seconds=max(_LEAST, seconds * _SHARES[part]), seed=seed, stop=False)
        recording = record(lanes_of(workload, doses), settings, engines)
        launches = {name: read_launches(recording, name) for name in doses}
        base = sorted(launches[next(iter(doses))].levels)
        return {name: _size(found.centres) for name, found in launches.items()}, base[len(base) // 2]

    guessed, _ = sizes({"some": _GUESS}, "guess")
    turns = max(1, round(_SLOWDOWN * _GUESS / max(guessed["some"].point, 1e-4)))
    priced, base = sizes({"more": turns}, "price")
    more = priced["more"]
    price = Price(
        workload=workload,
        threads=threads,
        base_seconds=short(base),
        turn=Size(point=more.point / turns, low=more.low / turns, high=more.high / turns),
        checks=(),
    )
    doses = {f"dose_{effect * 1000:.0f}": price.turns(effect) for effect in CHECKED}
    found, _ = sizes(doses, "check")
    checks = tuple(
        Checked(effect=effect, turns=doses[name], measured=found[name])
        for effect, name in zip(CHECKED, doses, strict=True)
    )
    return msgspec.structs.replace(price, checks=checks)


def price_now(workload: str, *, threads: int, about: float, seed: int, engines: Engines) -> float:
    """The price of a turn relative to a call at this hour, where it was `about` that much before."""
    turns = max(1, round(_SLOWDOWN / about))
    settings = settings_for(threads, seconds=ANEW, seed=seed, stop=False)
    recording = record(lanes_of(workload, {"more": turns}), settings, engines)
    return _size(read_launches(recording, "more").centres).point / turns


def _size(centres: tuple[float, ...]) -> Size:
    ratio = exponentiate(t_interval(np.array(centres), confidence=CONFIDENCE))
    point, low, high = (short(float(edge) - 1.0) for edge in ratio)
    return Size(point=point, low=low, high=high)


def save(directory: Path, prices: list[Price]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / NAME).write_bytes(msgspec.json.format(msgspec.json.encode(prices)) + b"\n")


def read(directory: Path) -> list[Price]:
    """Empty where nothing has been calibrated yet."""
    path = directory / NAME
    return msgspec.json.decode(path.read_bytes(), type=list[Price]) if path.exists() else []
