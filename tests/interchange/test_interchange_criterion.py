"""Criterion logs of any benchmark: every line comes back, and what they say is found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.criterion import parse, render
from stepmark.interchange.criterion_benchmarks import benchmarks
from stepmark.interchange.criterion_lines import Interval, Quantity, Title
from stepmark.interchange.criterion_units import fraction, per_second, seconds
from stepmark.interchange.lines import Noise, Text
from tests.interchange.criterion_logs import MadeLog, logs
from tests.interchange.documents import damaged, survives
from tests.support.properties import steady

RESULT = "alloc                   time:   [2.5094 ms 2.5306 ms 2.5553 ms]\n"


@steady
@given(logs())
def test_a_log_comes_back_and_its_benchmarks_are_found(made: MadeLog) -> None:
    log = parse(made.text, "log.txt")
    assert render(log) == made.text
    assert parse(render(log), "log.txt") == log
    found = benchmarks(log)
    assert [each.id for each in found] == [each.id for each in made.benchmarks]
    for benchmark, truth in zip(found, made.benchmarks, strict=True):
        assert benchmark.time is not None
        assert str(benchmark.time.point).strip() == truth.point
        assert (benchmark.change is not None) == bool(benchmark.sentence) == truth.changed
        assert (benchmark.outliers.count if benchmark.outliers else 0) == truth.outliers
        assert sum(each.count for each in benchmark.outlier_classes) == truth.outliers


@steady
@given(damaged(logs().map(lambda made: made.text)))
def test_a_damaged_log_comes_back_or_is_refused(text: str) -> None:
    survives(text, lambda: render(parse(text, "log.txt")))


@steady
@given(logs())
def test_colours_change_nothing_that_a_log_says(made: MadeLog) -> None:
    text = re.sub(r"[^\s\[\]]+", "\x1b[1m\\g<0>\x1b[0m", made.text)
    log = parse(text, "log.txt")
    assert render(log) == text
    assert [(each.id, str(each.time and each.time.point).strip()) for each in benchmarks(log)] == [
        (each.id, each.point) for each in made.benchmarks
    ]


def test_progress_that_a_terminal_drew_over_is_kept_and_not_read() -> None:
    text = (
        "Benchmarking alloc\r\x1b[KBenchmarking alloc: Warming up for 3.0000 s\r\x1b[K"
        "Benchmarking alloc: Analyzing\r\x1b[K\x1b[32malloc\x1b[0m                   time:   "
        "[\x1b[2m2.5094 ms\x1b[0m \x1b[1m2.5306 ms\x1b[0m \x1b[2m2.5553 ms\x1b[0m]\n"
        "                        change: [\x1b[2m-5.0%\x1b[0m \x1b[1m\x1b[32m-4.1%\x1b[0m\x1b[0m "
        "\x1b[2m-3.1%\x1b[0m] (p = 0.00 < 0.05)\n"
        "                        Performance has \x1b[32mimproved\x1b[0m.\n"
    )
    log = parse(text, "log.txt")
    assert render(log) == text
    (only,) = benchmarks(log)
    assert only.id == "alloc"
    assert only.time is not None
    assert seconds(only.time.point) == pytest.approx(2.5306e-3)
    assert only.sentence == "Performance has improved."


def test_results_may_come_without_progress_and_after_all_of_it() -> None:
    progress = "".join(
        f"Benchmarking {id}\nBenchmarking {id}: Warming up for 3.0000 s\nBenchmarking {id}: Analyzing\n"
        for id in ("first", "second")
    )
    results = "".join(
        f"{id:<24}time:   [1.0000 {unit} 2.0000 {unit} 3.0000 {unit}]\n"
        for id, unit in (("first", "ms"), ("second", "ns"))
    )
    both = benchmarks(parse(progress + results, "log"))
    assert [(each.id, each.warm_up is not None) for each in both] == [("first", True), ("second", True)]
    assert [seconds(each.time.point) for each in both if each.time] == pytest.approx([2e-3, 2e-9])
    assert [each.id for each in benchmarks(parse(results, "log"))] == ["first", "second"]


def test_two_runs_in_one_file_are_four_benchmarks() -> None:
    once = f"Benchmarking alloc\nBenchmarking alloc: Analyzing\n{RESULT}"
    assert [each.id for each in benchmarks(parse(once * 2, "log"))] == ["alloc", "alloc"]
    assert [each.id for each in benchmarks(parse(RESULT * 2, "log"))] == ["alloc", "alloc"]


def test_a_benchmark_that_did_not_end_has_no_time() -> None:
    text = f"{RESULT}Benchmarking boom: Warming up for 3.0000 s\nthread 'main' panicked at 'boom'\n"
    found = benchmarks(parse(text, "log"))
    assert [(each.id, each.time is None) for each in found] == [("alloc", False), ("boom", True)]


def test_a_stage_that_is_not_known_is_text() -> None:
    log = parse(f"Benchmarking alloc\nBenchmarking alloc: Profiling for 5.0 s\n{RESULT}", "log")
    assert Text(lines=("Benchmarking alloc: Profiling for 5.0 s",)) in log.parts
    assert [each.id for each in benchmarks(log)] == ["alloc"]


def test_columns_and_spaces_that_an_editor_changed_are_kept() -> None:
    text = (
        "a_very_long_name/of_a_benchmark                      \n"
        "                    time:   [927.55 ms 965.78 ms 1.0286 s]   \n"
        "                    thrpt:  [7.7778 Gb/s 8.2835 Gb/s 8.6249 Gb/s]\n"
        "             change:\n"
        "                    time:   [−3.6708% +1.7313% +8.7592%] (p = 0.70 > 0.05)\n"
        "                    thrpt:  [−8.0537% −1.7018% +3.8107%]\n"
        "                    No change in performance detected.\n"
    )
    log = parse(text, "log")
    assert render(log) == text
    (found,) = benchmarks(log)
    assert found.id == "a_very_long_name/of_a_benchmark"
    assert found.time is not None
    assert seconds(found.time.high) == pytest.approx(1.0286)
    assert per_second(found.throughput[0].low) == pytest.approx(7.7778e9)
    assert found.change is not None
    assert fraction(found.change.low) == pytest.approx(-0.036708)
    assert len(found.throughput_change) == 1


def test_bytes_that_are_no_text_are_kept_as_bytes() -> None:
    log = parse(f"\udcff\udcfe\n{RESULT}", "log")
    assert log.parts[0] == Noise(line=b"\xff\xfe")


def test_carriage_returns_at_some_lines_belong_to_them() -> None:
    text = f"hello\r\n{RESULT}"
    log = parse(text, "log")
    assert render(log) == text
    assert log.newline == "\n"


@pytest.mark.parametrize(
    ("unit", "scale"),
    [("ps", 1e-12), ("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0)],
)
def test_units_of_time(unit: str, scale: float) -> None:
    assert seconds(Quantity(digits="436.78", unit=unit)) == pytest.approx(436.78 * scale)


@pytest.mark.parametrize(
    ("unit", "scale"),
    [
        ("  B/s", 1.0),
        ("KiB/s", 1024.0),
        ("GiB/s", 1024.0**3),
        ("MB/s", 1e6),
        (" elem/s", 1.0),
        ("Gelem/s", 1e9),
    ],
)
def test_units_of_throughput(unit: str, scale: float) -> None:
    assert per_second(Quantity(digits="2.5", unit=unit)) == pytest.approx(2.5 * scale)


def test_a_unit_of_somebodys_own_is_no_time() -> None:
    log = parse(
        "alloc                   time:   [12345 cycles 12345 cycles 12346 cycles]\n".replace(
            "[", "[ "
        ).replace("cycles 1", "cycles  1"),
        "log",
    )
    (found,) = benchmarks(log)
    assert found.time is not None
    assert seconds(found.time.point) is None
    assert per_second(found.time.point) is None


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "no result of Criterion's"),
        ("Benchmarking a\nBenchmarking a: Warming up for 3.0000 s\n", 3, "no result of Criterion's"),
        (f"{RESULT}long\n{' ' * 24}time:   [1.38", 3, "not three values in brackets"),
        (f"{RESULT}{' ' * 24}thrpt:  [1.0000 KiB/s]\n", 2, "not three values in brackets"),
        (f"{RESULT}Benchmarking b: Analyzing\n", 3, "the log ends before the result of 'b'"),
        (f"{' ' * 24}No change in performance detected.\n{RESULT}", 1, "before any result"),
        (f"{' ' * 24}time:   [1.0000 s 1.0000 s 1.0000 s]\n", 1, "without the name of its benchmark"),
        (f"\n{' ' * 24}time:   [1.0000 s 1.0000 s 1.0000 s]\n", 2, "without the name of its benchmark"),
    ],
)
def test_broken_logs_name_the_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(BrokenFile, match=problem) as caught:
        parse(text, "run.log")
    assert caught.value.line == line
    assert caught.value.problem.startswith(f"run.log, line {line}: ")


def test_an_id_that_fills_the_column_has_a_line_of_its_own() -> None:
    log = parse(f"{'x' * 24}\n{' ' * 24}time:   [1.0000 s 1.0000 s 1.0000 s]\n", "log")
    title, time = log.parts[:2]
    assert title == Title(id="x" * 24)
    assert isinstance(time, Interval)
    assert time.id == ""
