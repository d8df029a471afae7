"""The published transformer tables, measured again: warm-up, what profiling costs, and precision.

Warm-up 0, 1, 2 and 5: `stepmark warmup` has the first iterations of a fresh process, one by one; the four
tables are means over ten of them, from the first, second, third and sixth on. Profiling: `stepmark profile`,
with and without the profiler by turns. Precision: transformer_precision. Compiling the whole model, as the
published script did, takes minutes at 48 layers: those runs have limits of their own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.h200.transformer_rows import lines_of

PUBLISHED = ("small", "medium", "large", "xl")
PARTS = ("eager", "compiled", "profile", "precision")
WARM_UPS = (0, 1, 2, 5)
KEPT = 10
SECONDS = {"eager": 60, "compiled": 150, "profile": 90, "precision": 90}
"""Limits, by what runs."""


def published(sizes: list[str], parts: list[str]) -> Iterator[list[dict[str, Any]]]:
    """Of each size, the parts that are asked for: eager, compiled (both warm-up), profile, precision."""
    for size in [size for size in PUBLISHED if size in sizes]:
        for variant in [part for part in ("eager", "compiled") if part in parts]:
            yield warm_up(size, variant)
        if "profile" in parts:
            yield profile(size)
        if "precision" in parts:
            yield lines_of("benchmarks.h200.transformer_precision", ["--size", size], SECONDS["precision"])


def case_words(size: str, variant: str) -> list[str]:
    axes = [f"--set={axis}" for axis in (f"size={size}", "workload=as_run", "context=128")]
    return ["transformer", "--case", variant, *axes, "--mode", "train", "--device", "cuda", "--quiet"]


def warm_up(size: str, variant: str) -> list[dict[str, Any]]:
    """One launch: the published script started once."""
    words = [*case_words(size, variant), "--iterations", "15", "--launches", "1", "--timeout", "150s"]
    study = stepmark("warmup", words, SECONDS[variant])
    if "error" in study:
        return [{"size": size, "variant": variant, "table": "warm-up", **study}]
    (trial,) = study["recording"]["trials"]
    if trial["failure"]:
        return [{"size": size, "variant": variant, "table": "warm-up", "error": str(trial["failure"])[-400:]}]
    columns = zip(*(each["nanoseconds"] for each in trial["iterations"]), strict=True)
    seconds = {
        phase: [1e-9 * value for value in values]
        for phase, values in zip(trial["layout"]["phases"], columns, strict=True)
    }
    rows: list[dict[str, Any]] = []
    for dropped in WARM_UPS:
        row = {"size": size, "variant": variant, "table": "warm-up", "dropped": dropped}
        rows.append(row | {f"{phase}_ms": spread(values, dropped) for phase, values in seconds.items()})
    first = {phase: [round(1e3 * value, 3) for value in values] for phase, values in seconds.items()}
    causes = [cause["kind"] for cause in study["summary"]["causes"]]
    return [*rows, {"size": size, "variant": variant, "table": "first", "ms": first, "causes": causes}]


def spread(values: list[float], dropped: int) -> list[float]:
    """Mean and population deviation in milliseconds, as published, of ten after those that are dropped."""
    kept = values[dropped : dropped + KEPT]
    return [round(1e3 * of(kept), 3) for of in (statistics.mean, statistics.pstdev)]


def profile(size: str) -> list[dict[str, Any]]:
    words = [*case_words(size, "eager"), "--launches", "1", "--rounds", "5", "--iterations", "2"]
    found = stepmark("profile", words, SECONDS["profile"])
    cost = found.get("recording", {}).get("cost")
    kept = found if "error" in found else {"cost": cost, "phases": found["summary"]["phases"]}
    return [{"size": size, "variant": "eager", "table": "profiler", **kept}]


def stepmark(command: str, words: list[str], seconds: float) -> dict[str, Any]:
    """The JSON document of a stepmark command, or its error."""
    begin = time.perf_counter()
    line = [sys.executable, "-m", "stepmark", command, *words, "--format", "json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {seconds} s"}
    print(
        f"stepmark {command} {' '.join(words)}: exit {done.returncode}, {time.perf_counter() - begin:.0f} s"
    )
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"error": (done.stderr or done.stdout)[-800:]}
    return document
