"""The transformer's figures: what is computed from times, and rows from processes of their own."""

from __future__ import annotations

import pytest

from benchmarks.h200.transformer_published import case_words, spread
from benchmarks.h200.transformer_rows import lines_of, words_of
from benchmarks.h200.transformer_step import Lane, rows_of
from stepmark.zoo import SIZES


def _step() -> None:
    raise AssertionError("not to be run")


def test_mfu_and_ratio_follow_from_the_median() -> None:
    lanes = [
        Lane("plain", _step, {}, [0.2, 0.1, 0.3]),  # type: ignore[arg-type]
        Lane("fused", _step, {}, [0.05]),  # type: ignore[arg-type]
        Lane("compiled", _step, {"error": "no"}),  # type: ignore[arg-type]
    ]
    plain, fused, failed = rows_of("small", 256, lanes, SIZES["small"], 800.0)
    work = 6 * SIZES["small"].parameters() * 1024
    assert plain["ms"] == 200.0
    assert plain["mfu"] == pytest.approx(work / 0.2 / 800e12, abs=1e-4)
    assert (plain["faster"], fused["faster"]) == (1.0, 4.0)
    assert failed["error"] == "no"
    assert "ms" not in failed


def test_a_table_is_ten_iterations_after_those_that_are_dropped() -> None:
    seconds = [1.0, *[0.001] * 14]
    assert spread(seconds, 0) == [100.9, 299.7]
    assert spread(seconds, 1) == [1.0, 0.0]


def test_cases_are_named_for_the_command_line() -> None:
    assert "--set=size=xl" in case_words("xl", "compiled")


def test_what_a_process_says_besides_rows_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("this", [], 30.0) == []
    assert "Beautiful is better than ugly" in capsys.readouterr().out
    assert "peak_bytes=2.00e9" in words_of({"size": "xl", "peak_bytes": 2e9, "losses": [1.0]})


def test_a_process_that_takes_too_long_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("http.server", ["--bind", "127.0.0.1", "0"], 1.0) == []
    assert "ended after 1.0 s" in capsys.readouterr().out
