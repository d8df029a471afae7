"""The page of GPU figures says what the data beside it say."""

from __future__ import annotations

import json

import pytest

from benchmarks.h200 import page_bitsandbytes
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


def test_only_what_ran_beside_bitsandbytes_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = {"auto vector": 1.2, "auto global": 1.5, "bnb rowwise": 0.8, "bnb global": 0.75}
    rows = [
        {"shape": [1024, 2, 3], "us": {"bnb rowwise": 15.0, "bnb global": 30.0}, "speed-up": speeds},
        {"shape": [2048, 5, 6], "us": {"bnb rowwise": None, "bnb global": None}, "speed-up": {}},
        {"shape": [7, 8, 9], "failed": "out of memory"},
        {"copy TB/s": 4.0},
    ]
    monkeypatch.setattr(page_bitsandbytes, "rows", lambda _: rows)
    (by_row,), (by_one,) = (page_bitsandbytes.beside(scales) for scales in page_bitsandbytes.PAIRS)
    assert (by_row.ratio, by_one.ratio) == pytest.approx((1.5, 2.0))
    assert "1024" in page_bitsandbytes.by_rows()
    assert "2048" not in page_bitsandbytes.by_rows()
