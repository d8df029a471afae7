"""Presets and what the user puts over them."""

from __future__ import annotations

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


def test_threads_none_is_torchs_choice_not_the_presets() -> None:
    assert make_settings("quick", threads=None).threads is None
    assert make_settings("quick").threads == 1


def test_an_unknown_preset() -> None:
    with pytest.raises(UsageError, match="no preset 'slow'"):
        make_settings("slow")
