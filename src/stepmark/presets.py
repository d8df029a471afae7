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


def make_settings(preset: str, *, threads: int | None = 1, **chosen: Any) -> Settings:
    """The preset's settings with the user's own put over them; None leaves the preset's, but for threads,
    where None leaves torch's choice."""
    if preset not in PRESETS:
        raise UsageError(f"there is no preset '{preset}'", remedy=f"the presets are: {', '.join(PRESETS)}")
    given = {name: value for name, value in chosen.items() if value is not None}
    if "budget" in given or "launches" in given:  # who says how long, or how often, is not cut short
        given.setdefault("launches", _LAUNCHES_OF_A_BUDGET)
        given["cell_budget"] = None
    return Settings(threads=threads, **{**PRESETS[preset], **given})
