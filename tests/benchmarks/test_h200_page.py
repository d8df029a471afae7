"""The page of GPU figures says what the data beside it say."""

from __future__ import annotations

import json

import pytest

from benchmarks.h200.common import DATA
from benchmarks.h200.page import MARKERS, PAGE, SECTIONS, written


def test_the_page_is_what_the_data_make_of_it() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "python -m benchmarks.h200.page"


def test_every_section_stands_on_the_page_once() -> None:
    assert sorted(found["name"] for found in MARKERS.finditer(PAGE.read_text())) == sorted(SECTIONS)


@pytest.mark.parametrize("file", sorted(DATA.glob("*.json")), ids=lambda file: str(file.name))
def test_data_say_where_when_and_with_what_they_were_made(file: object) -> None:
    environment = json.loads((DATA / str(file)).read_text())["environment"]
    for name in ("date", "device", "torch", "triton", "driver", "sm_mhz", "memory_mhz"):
        assert environment[name], name
