"""Ceilings on a terminal."""

from __future__ import annotations

from stepmark.records.ceilings import Ceilings, MatrixRate
from stepmark.report.ceilings_table import ceilings_table

CEILINGS = Ceilings(
    device="cpu",
    threads=2,
    torch="2.13.0",
    host="bench, Example CPU",
    measured=0.0,
    copy_memory=12.34e9,
    copy_cache=180e9,
    matrix=(
        MatrixRate(dtype="float32", flops_per_second=308.51e9, size=512),
        MatrixRate(dtype="bfloat16", flops_per_second=989e12, size=8192),
    ),
)


def test_one_rate_a_line() -> None:
    assert ceilings_table(CEILINGS, num_measurements=3).text() == (
        "bench, Example CPU · cpu · 2 threads · torch 2.13.0 · best of 3 measurements\n"
        "\n"
        "copy in memory           12.3 GB/s   read and written\n"
        "copy in a cache         180.0 GB/s   read and written\n"
        "float32 product      308.5 GFLOP/s   512 × 512\n"
        "bfloat16 product     989.0 TFLOP/s   8192 × 8192\n"
    )
