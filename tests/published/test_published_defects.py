"""Defects: each from the closed list, on the page, with numbers that follow from the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepmark.published.catalogue import PUBLICATIONS
from stepmark.published.defect import Basis, DefectName
from stepmark.published.defects import defects_of
from stepmark.records.finding import Severity

PAGE = (Path(__file__).parents[2] / "docs" / "published.md").read_text(encoding="utf-8")


def message(name: str, defect: DefectName) -> str:
    (found,) = (each for each in defects_of(name) if each.name is defect)
    return found.message


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_publication_has_defects_each_once_and_explained(name: str) -> None:
    found = defects_of(name)
    assert any(each.severity is Severity.ERROR for each in found)
    assert len({each.name for each in found}) == len(found)
    assert all(each.message and each.remedy for each in found)


def test_every_word_of_the_list_is_used_and_on_the_page() -> None:
    used = {each.name for name in PUBLICATIONS for each in defects_of(name)}
    assert used == set(DefectName)
    assert all(f"| {word} |" in PAGE for word in DefectName)
    assert all(f"**{basis}**" in PAGE for basis in Basis)


def test_numbers_in_the_messages_are_computed() -> None:
    leftover = message("fragmented", DefectName.LEFTOVER_LAYER)
    assert "1.05 to 1.06 times" in leftover
    assert "32 / 128 / 512 MiB" in leftover
    assert "1.56" in message("switchback", DefectName.SLOW_BASELINE)
    assert "12.0 / 49.2 / 75.9 / 100.9 s" in message("transformer-2", DefectName.WARM_UP_IS_COMPILATION)
    assert "3.62 / 3.53 / 3.46 / 3.46 ms" in message("transformer-2", DefectName.PROFILER_STALL)
    assert "249 / 497 / 993 times" in message("lora", DefectName.EXCESS_WORK)


def test_the_profiler_is_blamed_only_where_its_table_is() -> None:
    assert DefectName.PROFILER_STALL not in {each.name for each in defects_of("transformer-1")}
