"""Presets and what the user puts over them."""

from __future__ import annotations

from typing import Any

import pytest

from stepmark.errors import UsageError
from stepmark.presets import PRESETS, make_settings
from stepmark.records.settings import Settings


def test_standard_is_the_default_of_the_record() -> None:
    assert make_settings("standard") == Settings(cell_budget=300.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_users_choice_wins(preset: str) -> None:
    assert make_settings(preset, launches=3, seed=9).launches == 3
    assert make_settings(preset, launches=None).launches == make_settings(preset).launches


def test_presets_are_ordered_by_effort() -> None:
    assert [make_settings(name).launches for name in ("quick", "standard", "full")] == [10, 40, 100]
    assert all(make_settings(name).stop for name in ("quick", "standard", "full"))


def test_quick_has_shorter_launches() -> None:
    quick, standard = make_settings("quick"), make_settings("standard")
    assert quick.round_seconds < standard.round_seconds
    assert quick.warmup_seconds < standard.warmup_seconds
    assert quick.min_rounds == 3 < standard.min_rounds, "as few as a median survives"


def test_a_budget_alone_decides_how_many_launches() -> None:
    assert make_settings("quick", budget=60.0).launches == 200
    assert make_settings("quick", budget=60.0, launches=4).launches == 4


@pytest.mark.parametrize("preset", PRESETS)
def test_a_cells_time_is_limited_unless_the_user_says_how_long_or_how_often(preset: str) -> None:
    assert make_settings(preset).cell_budget is not None
    assert make_settings(preset, budget=5.0).cell_budget is None
    assert make_settings(preset, launches=5).cell_budget is None


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"launches": 0}, "launches: 0 leaves nothing to measure"),
        ({"threads": 0}, "threads: 0 leaves nothing to measure"),
        ({"timeout": 0.0}, "timeout: 0 leaves nothing to measure"),
        ({"round_seconds": 0.0}, "sampling: 0 leaves nothing to measure"),
        ({"seed": "a"}, "seed: 'a' is not a whole number"),
    ],
)
def test_settings_that_measure_nothing_are_refused(chosen: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        make_settings("standard", **chosen)
    assert caught.value.remedy
    assert make_settings("standard", budget=0.0).budget == 0.0, "solo passes only"


def test_threads_none_is_torchs_choice_not_the_presets() -> None:
    assert make_settings("quick", threads=None).threads is None
    assert make_settings("quick").threads == 1


def test_an_unknown_preset() -> None:
    with pytest.raises(UsageError, match="no preset 'slow'"):
        make_settings("slow")
