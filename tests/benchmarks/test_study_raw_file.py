"""The raw file of the study survives what happens to files."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from benchmarks.verdicts import raw_file
from benchmarks.verdicts.report import keep
from benchmarks.verdicts.results import Line
from tests.benchmarks.synthetic import SESSION, condition, ours, visit

LINES: list[Line] = [
    SESSION,
    ours(condition(), [0.0, 0.001]),
    visit(condition("asv", effect=0.03), (1.0, 1.01, 1.03)),
]


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    for line in LINES:
        raw_file.append(tmp_path, line)
    assert raw_file.read(tmp_path) == LINES


@pytest.mark.parametrize("torn_at", [1, 40, -2])
def test_a_torn_last_line_is_left_out_and_writing_goes_on(tmp_path: Path, torn_at: int) -> None:
    for line in LINES:
        raw_file.append(tmp_path, line)
    path = tmp_path / raw_file.NAME
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole[: -len(last)] + last[:torn_at])
    assert raw_file.read(tmp_path) == LINES[:2]
    raw_file.append(tmp_path, LINES[2])
    assert raw_file.read(tmp_path) == LINES


def test_a_line_of_another_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / raw_file.NAME).write_text('{"type": "session", "id": 3}\n')
    with pytest.raises(msgspec.ValidationError):
        raw_file.read(tmp_path)


def test_no_file_is_no_lines(tmp_path: Path) -> None:
    assert raw_file.read(tmp_path) == []


@pytest.mark.parametrize(("large", "name"), [(10, f"{raw_file.NAME}.gz"), (10**9, raw_file.NAME)])
def test_a_kept_copy_reads_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, name: str
) -> None:
    monkeypatch.setattr("benchmarks.verdicts.report.LARGE", large)
    for line in LINES:
        raw_file.append(tmp_path / "study", line)
    keep(tmp_path / "study", tmp_path / "data" / "study")
    assert [path.name for path in (tmp_path / "data" / "study").iterdir()] == [name]
    assert raw_file.read(tmp_path / "data" / "study") == LINES
    if name.endswith("gz"):
        assert gzip.decompress((tmp_path / "data" / "study" / name).read_bytes()).count(b"\n") == len(LINES)
