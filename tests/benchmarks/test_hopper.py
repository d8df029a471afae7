"""Kernels compiled for Hopper on a machine that has none: every family, its first configuration."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hopper.families import FAMILIES

ROOT = Path(__file__).parents[2]
KERNELS = {
    *("norm_forward", "norm_backward", "sum_parts", "softmax_forward", "softmax_backward"),
    *("quantize_rows", "scaled_product", "narrow_rows", "expert_rows", "gate_rows", "few_rows_product"),
    *("choose_fragments", "narrow_others", "sort_rows", "expert_sorted"),
    *("thin_kernel", "spread_kernel", "adam_step", "loss_kernel", "loss_gradient_kernel"),
}

DEPENDENT = {"narrow_rows", "expert_rows", "narrow_others", "sort_rows", "expert_sorted"}
"""Launched so that they may begin while the kernel before them ends."""


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or platform.machine() != "x86_64",
    reason="Triton brings its compiler for NVIDIA GPUs for Linux on x86-64",
)
def test_the_first_of_every_family_compiles_and_spills_nothing() -> None:
    """In a process of its own: here Triton interprets."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.hopper", "--first"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert {row[-7] for row in rows} >= KERNELS
    assert all(1 <= int(row[-6]) <= 255 for row in rows)
    assert [row for row in rows if int(row[-5])] == [], "registers do not suffice"
    waits = {row[-7]: row[-1] for row in rows}
    assert {name for name, number in waits.items() if number != "-"} >= DEPENDENT
    assert "0" not in waits.values(), "such a kernel reads what another has not written yet"


def test_every_family_has_calls() -> None:
    assert all(next(calls(), None) is not None for calls in FAMILIES.values())
