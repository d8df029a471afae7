"""A text that Criterion printed, made again from its numbers, byte for byte.

The numbers in published_criterion.json were read off the published output of metal-candle's training
benchmarks (Criterion 0.5.1; Apache-2.0), run 2 of 5: all seventeen benchmarks, with every kind of line.
Where a line shows a number and its inverse, the file has the digits that make both right. The mean of the
warm-up is the printed estimate divided by the planned iterations. Of the text itself only its digest is
kept here, without the three lines above the first benchmark, and three blocks for reading.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from stepmark.records.estimate import OutlierCounts
from stepmark.report.criterion_text import render_benchmarks
from stepmark.report.criterion_view import Benchmark, Collection, Result, Shortfall
from stepmark.stats.criterion_change import Change, Sentence
from stepmark.stats.criterion_plan import plan_samples

PUBLISHED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "published_criterion.json").read_text(encoding="utf-8")
)
DIGEST = "c14dfd6c800cbb6c0026dcf99596a03c8e3e3c91ff2288c6289ac1396ff7cc0d"

WITH_THROUGHPUT = """\
Benchmarking full_training_step/complete_iteration
Benchmarking full_training_step/complete_iteration: Warming up for 3.0000 s
Benchmarking full_training_step/complete_iteration: Collecting 10 samples \
in estimated 5.0481 s (1320 iterations)
Benchmarking full_training_step/complete_iteration: Analyzing
full_training_step/complete_iteration
                        time:   [3.3281 ms 3.3319 ms 3.3341 ms]
                        thrpt:  [39.313 Melem/s 39.338 Melem/s 39.384 Melem/s]
                 change:
                        time:   [+0.3670% +0.4981% +0.6179%] (p = 0.00 < 0.05)
                        thrpt:  [-0.6141% -0.4956% -0.3657%]
                        Change within noise threshold.
Found 2 outliers among 10 measurements (20.00%)
  1 (10.00%) low severe
  1 (10.00%) low mild

"""
WITH_WARNING = """\
Benchmarking optimizer_step/adamw_step
Benchmarking optimizer_step/adamw_step: Warming up for 3.0000 s

Warning: Unable to complete 100 samples in 5.0s. You may wish to increase target time to 9.3s, enable flat \
sampling, or reduce sample count to 50.
Benchmarking optimizer_step/adamw_step: Collecting 100 samples in estimated 9.2580 s (5050 iterations)
Benchmarking optimizer_step/adamw_step: Analyzing
optimizer_step/adamw_step
                        time:   [1.3854 ms 1.5802 ms 1.7853 ms]
                        change: [-26.706% +1.2040% +37.343%] (p = 0.95 > 0.05)
                        No change in performance detected.
Found 20 outliers among 100 measurements (20.00%)
  11 (11.00%) low severe
  3 (3.00%) low mild
  3 (3.00%) high mild
  3 (3.00%) high severe

"""
WITHOUT_OUTLIERS = """\
Benchmarking lora_rank_scaling/forward/rank_16
Benchmarking lora_rank_scaling/forward/rank_16: Warming up for 3.0000 s
Benchmarking lora_rank_scaling/forward/rank_16: Collecting 100 samples in estimated 5.0773 s (2100 iterations)
Benchmarking lora_rank_scaling/forward/rank_16: Analyzing
lora_rank_scaling/forward/rank_16
                        time:   [2.2367 ms 2.9225 ms 3.6197 ms]
                        change: [-33.493% -5.0660% +34.353%] (p = 0.77 > 0.05)
                        No change in performance detected.

"""


def benchmark(facts: dict[str, Any]) -> Benchmark:
    """What Criterion knew when it printed the block: the plan follows from the mean of the warm-up."""
    plan = plan_samples(facts["warm_up_mean"], num_samples=facts["num_samples"])
    shortfall = None
    if plan.advised_samples is not None:
        shortfall = Shortfall(target=5.0, sampling=plan.sampling, advised_samples=plan.advised_samples)
    low, point, high = facts["time"]
    below, by, above = facts["change"]
    return Benchmark(
        id=facts["id"],
        collection=Collection(
            num_samples=facts["num_samples"],
            seconds=plan.seconds,
            iterations=sum(plan.iterations),
            warmup_seconds=3.0,
            shortfall=shortfall,
        ),
        result=Result(
            low=low,
            point=point,
            high=high,
            outliers=OutlierCounts(
                **dict(zip(OutlierCounts.__struct_fields__, facts["outliers"], strict=True))
            ),
            change=Change(below, by, above, p_value=facts["p"], sentence=Sentence(facts["sentence"])),
            elements=facts.get("elements"),
        ),
    )


def test_the_whole_published_text_comes_out_again() -> None:
    text = render_benchmarks(map(benchmark, PUBLISHED))
    assert text.count("Analyzing") == 17
    assert sha256(text.encode()).hexdigest() == DIGEST


@pytest.mark.parametrize("text", [WITH_THROUGHPUT, WITH_WARNING, WITHOUT_OUTLIERS])
def test_single_blocks(text: str) -> None:
    id = text.splitlines()[0].removeprefix("Benchmarking ")
    (facts,) = (facts for facts in PUBLISHED if facts["id"] == id)
    assert render_benchmarks([benchmark(facts)]) == text
