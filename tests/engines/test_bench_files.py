"""Bench files watched: what is no longer what it was is refused, whatever befell it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepmark.engines.bench_files import BenchFiles
from stepmark.errors import BenchFileError
from stepmark.records.source import BuiltinSource, FileSource


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    file = tmp_path / "bench_mine.py"
    file.write_text("one = 1\n")
    return file


def rewritten(bench: Path) -> None:
    bench.write_text("one = 2\n")


def moved(bench: Path) -> None:
    bench.rename(bench.with_name("bench_other.py"))


def replaced_by_a_folder(bench: Path) -> None:
    bench.unlink()
    bench.mkdir()


@pytest.mark.parametrize("change", [rewritten, Path.unlink, moved, replaced_by_a_folder])
def test_another_text_or_none_is_refused(bench: Path, change: Callable[[Path], object]) -> None:
    files = BenchFiles([BuiltinSource(name="demo"), FileSource(path=str(bench))])
    files.refuse_change()
    change(bench)
    with pytest.raises(BenchFileError, match=r"bench_mine\.py was changed, moved or deleted") as caught:
        files.refuse_change()
    assert "--resume" in caught.value.remedy


def test_the_same_text_written_again_is_no_change(bench: Path) -> None:
    files = BenchFiles([FileSource(path=str(bench))])
    text = bench.read_bytes()
    bench.unlink()
    bench.write_bytes(text)
    files.refuse_change()
