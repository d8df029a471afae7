"""LoRA's table: of a shape that was measured again what was measured last, and which demand is of which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.h200 import page_data, page_lora
from tests.benchmarks.page_rows import cells_of, put


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_data, "DATA", tmp_path)
    return tmp_path


def row(tokens: int, features: int, rank: int, ours: float, *, dtype: str = "bf16") -> dict[str, Any]:
    times = {"ours": ours, "peft": 1000.0, "plain": 500.0, "base": 400.0}
    known = {"tokens": tokens, "features": features, "rank": rank, "dtype": dtype}
    return known | {"both_eager_us": times, "both_graph_us": {name: one / 10 for name, one in times.items()}}


def test_the_newest_row_of_a_shape_counts(folder: Path) -> None:
    put(folder, "lora-shapes-b", "2026-11-16", [row(64, 512, 8, 700.0), row(4096, 4096, 16, 700.0)])
    put(folder, "lora-shapes-a", "2026-11-17", [row(4096, 4096, 16, 440.0)])
    assert page_lora.of_the_base() == pytest.approx(1.1)
    assert page_lora.of_peft() == pytest.approx([0.7])
    few, few_graph, wide, _ = cells_of(page_lora.lora())
    assert few[:3] == ["64 x 512 r8", "bfloat16", "eager"]
    assert few[-2:] == ["0.5 of PEFT", "not met"]
    assert few_graph[-2:] == ["", ""]
    assert wide[-2:] == ["1.12 of the base", "met"]


def test_other_ranks_and_dtypes_of_the_wide_shape_are_asked_nothing(folder: Path) -> None:
    rows = [
        row(4096, 4096, 64, 440.0),
        row(4096, 4096, 16, 480.0),
        row(4096, 4096, 16, 480.0, dtype="fp32"),
    ]
    put(folder, "lora-shapes", "2026-11-16", rows)
    told = {(cells[0], cells[1]): cells[-1] for cells in cells_of(page_lora.lora()) if cells[2] == "eager"}
    assert told == {
        ("4096 x 4096 r16", "bfloat16"): "not met",
        ("4096 x 4096 r64", "bfloat16"): "",
        ("4096 x 4096 r16", "float32"): "",
    }
