"""SwitchBack's JSON lines: records and text are each other's inverse."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.switchback_jsonl import KEYS, OPERATIONS, TOTALS, SwitchbackLines, parse, render
from tests.interchange.documents import damaged, survives, switchback_lines
from tests.support.properties import steady

ROW = dict.fromkeys(KEYS, 0.25) | {
    "repeat": 64,
    "batch_size": 1024,
    "dim_out": 4096,
    "dim_in": 1024,
    "wm": 4,
    "switch": False,
}
LINE = json.dumps({key: ROW[key] for key in KEYS})


@steady
@given(switchback_lines)
def test_a_document_comes_back(document: SwitchbackLines) -> None:
    assert parse(render(document), "info.jsonl") == document


@steady
@given(damaged(switchback_lines.map(render)))
def test_a_damaged_text_comes_back_or_is_refused(text: str) -> None:
    survives(text, lambda: render(parse(text, "info.jsonl")))


def test_there_are_25_keys_and_totals_are_made_of_operations() -> None:
    assert len(KEYS) == 25
    assert len(OPERATIONS) == 16
    assert {part for parts in TOTALS.values() for part in parts} <= set(OPERATIONS)
    assert not {"cast_x", "cast_g", "cast_w"} & {part for parts in TOTALS.values() for part in parts}


def test_whole_numbers_stay_whole() -> None:
    (row,) = parse(LINE, "info.jsonl").rows
    assert isinstance(row.wm, int)
    (other,) = parse(LINE.replace('"wm": 4', '"wm": 4.0'), "info.jsonl").rows
    assert isinstance(other.wm, float)


def test_a_row_spelled_by_another_program_is_kept_as_text() -> None:
    compact = json.dumps(ROW, separators=(",", ":"))
    document = parse(f"{LINE}\n{compact}\n", "info.jsonl")
    assert len(document.rows) == 1
    assert render(document) == f"{LINE}\n{compact}\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (LINE[:-1], "no JSON object"),
        (LINE.replace('"cast_w": 0.25, ', ""), "missing required field `cast_w`"),
        (LINE.replace('"cast_w": 0.25', '"cast_w": "fast"'), "Expected `float | null`, got `str`"),
        (LINE.replace('"cast_w": 0.25', '"cast_w": NaN'), "NaN is not a number of JSON"),
        (LINE.replace('"repeat": 64', '"repeat": -1'), "Expected `int` >= 0"),
        (LINE.replace('"repeat": 64', '"extra": 1, "repeat": 64'), "unknown field `extra`"),
        ("{" * 100_000, "no JSON object"),
    ],
)
def test_broken_rows_name_the_line(line: str, problem: str) -> None:
    with pytest.raises(BrokenFile, match=problem.replace("|", r"\|")) as caught:
        parse(f"header\n{LINE}\n{line}\n", "info.jsonl")
    assert caught.value.line == 3


def test_a_text_without_rows_is_refused() -> None:
    with pytest.raises(BrokenFile, match="no line like"):
        parse("hello\n", "info.jsonl")
