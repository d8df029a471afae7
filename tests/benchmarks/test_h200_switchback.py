"""SwitchBack's shapes on the GPU: all of them in parts, and a run that goes on where another was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.h200 import page_data, page_switchback, switchback_shapes
from tests.benchmarks.page_rows import put


def test_parts_are_all_of_the_published_shapes_each_once() -> None:
    every = switchback_shapes.shapes()
    assert len(every) == len({*every}) == 142
    parts = [shape for part in range(3) for shape in switchback_shapes.shapes(part, 3)]
    assert sorted(parts) == sorted(every)


def test_the_rest_is_what_no_file_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_data, "DATA", tmp_path)
    every = switchback_shapes.shapes()
    done, failed, later = every[:50], every[50], every[51:60]
    rows = [{"shape": [*shape], "us": {}} for shape in done]
    put(
        tmp_path,
        "switchback-shapes-bfloat16-0of1",
        "2026-11-18",
        [*rows, {"shape": [*failed], "failed": "no"}],
    )
    put(
        tmp_path,
        "switchback-shapes-bfloat16-rest",
        "2026-11-19",
        [{"shape": [*one], "us": {}} for one in later],
    )
    put(tmp_path, "switchback-shapes-float16-0of1", "2026-11-18", [{"shape": [*failed], "us": {}}])
    known = page_switchback.known_shapes("bfloat16")
    assert known == {*done, *later}
    asked: list[tuple[int, int, int]] = []

    def measure(shape: tuple[int, int, int], *_: object, **__: object) -> dict[str, object]:
        asked.append(shape)
        return {"shape": shape, "failed": "not here"}

    monkeypatch.setattr(switchback_shapes, "_shape", measure)
    monkeypatch.setattr(switchback_shapes, "copy_bandwidth", lambda: 4.2)
    monkeypatch.setattr(switchback_shapes, "best_rate", lambda: 1400.0)
    monkeypatch.setattr(switchback_shapes, "forget_graphs", lambda: None)
    monkeypatch.setattr(switchback_shapes, "summary", lambda _: {})
    [*switchback_shapes.measured(torch.bfloat16, part=0, parts=1, left_out=known)]
    assert {*asked} == {*every} - known
    assert len(asked) == 83
