"""Presets: how long to measure, by name."""

from __future__ import annotations

from typing import Any

from stepmark.errors import UsageError
from stepmark.records.settings import Settings

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "launches": 10,
        "cell_budget": 15.0,
        "pilot": 0,
        "round_seconds": 0.08,
        "min_rounds": 3,
        "warmup_seconds": 0.03,
    },
    "standard": {"cell_budget": 300.0},
    "full": {"launches": 100, "cell_budget": 300.0},
    "published": {"cell_budget": 300.0},
}
"""What each says about time; which points of its axes a suite measures, it says itself: `Suite(presets=)`.
A hundred launches of a transformer's step take a day, and a cell's budget ends them after five minutes."""

_LAUNCHES_OF_A_BUDGET = 200
"""Where a budget alone is given, it decides; this many launches are more than any question needs."""


_POSITIVE = (
    ("launches", "launches", "3"),
    ("threads", "threads", "1"),
    ("timeout", "timeout", "120s"),
    ("round_seconds", "sampling", "150ms"),
)
"""Settings, as users know them, and what they might have written."""


def make_settings(preset: str, *, threads: int | None = 1, **chosen: Any) -> Settings:
    """The preset's settings with the user's own put over them; None leaves the preset's, but for threads,
    where None leaves torch's choice."""
    if preset not in PRESETS:
        raise UsageError(f"there is no preset '{preset}'", remedy=f"the presets are: {', '.join(PRESETS)}")
    given = {name: value for name, value in chosen.items() if value is not None}
    _refuse_nothing({**given, "threads": 1 if threads is None else threads})
    if "budget" in given or "launches" in given:  # who says how long, or how often, is not cut short
        given.setdefault("launches", _LAUNCHES_OF_A_BUDGET)
        given["cell_budget"] = None
    return Settings(threads=threads, **{**PRESETS[preset], **given})


def _refuse_nothing(given: dict[str, Any]) -> None:
    """What leaves nothing to measure with, or no time to do it in."""
    for name, said, like in _POSITIVE:
        if name in given and not given[name] > 0:
            raise UsageError(f"{said}: {given[name]:g} leaves nothing to measure", remedy=f"write {like}")
    if not isinstance(given.get("seed", 0), int):
        raise UsageError(f"seed: {given['seed']!r} is not a whole number", remedy="write 0, or any other")
