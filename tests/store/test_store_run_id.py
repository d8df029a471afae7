"""Run ids sort by time and are hardly ever the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from random import Random

from stepmark.store.run_id import new_run_id

_NOW = datetime(2026, 11, 15, 9, 15, 23, tzinfo=UTC).timestamp()


def test_an_id_begins_with_the_time() -> None:
    assert re.fullmatch(r"20261115-091523-[2-9a-z]{4}", new_run_id(_NOW, Random(1)))


def test_ids_sort_by_time() -> None:
    moments = [_NOW + step for step in (0, 1, 60, 3600, 86_400, 40_000_000)]
    ids = [new_run_id(moment, Random(7)) for moment in moments]
    assert ids == sorted(ids)


def test_ids_of_one_second_differ() -> None:
    random = Random(3)
    assert len({new_run_id(_NOW, random) for _ in range(50)}) == 50
