"""The page of GPU figures says what the data beside it say."""

from __future__ import annotations

import json

import pytest

from benchmarks.h200 import page_switchback
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


def test_bitsandbytes_is_held_against_ours_shape_by_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ours is as much faster than 16 bits as its kernels were, the ratio is 1; else what it is more."""
    rows = [
        {"shape": list(shape), "us": {}, "speed-up": {"auto vector": 1.5 * row, "auto global": 2.0 * whole}}
        for shape, (row, whole) in page_switchback.GIVEN.items()
    ]
    monkeypatch.setattr(page_switchback, "measured_shapes", lambda: rows)
    assert page_switchback.by_way_of_plain() == pytest.approx((1.5, 2.0))


def test_only_what_ran_beside_bitsandbytes_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"auto vector": 10.0, "auto global": 20.0}
    rows = [
        {"shape": [1, 2, 3], "us": {**ours, "bnb rowwise": 15.0, "bnb global": 30.0}},
        {"shape": [4, 5, 6], "us": {**ours, "bnb rowwise": None, "bnb global": None}},
        {"shape": [7, 8, 9], "failed": "out of memory"},
        {"copy TB/s": 4.0},
    ]
    monkeypatch.setattr(page_switchback, "rows", lambda _: rows)
    assert page_switchback.side_by_side() == {(1, 2, 3): (1.5, 1.5)}
