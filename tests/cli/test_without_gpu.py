"""A run on the CPU of layers that have kernels: no CUDA, no NVML, nothing compiled by Triton."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import QUICK, CommandLine

pytestmark = [pytest.mark.process, pytest.mark.beside]


def torchs_own() -> set[str]:
    """Builds for CUDA import NVML's bindings themselves, where they are installed."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, torch; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {*done.stdout.split()}


def test_what_is_a_gpus_is_not_touched(tmp_path: Path, benches: Path) -> None:
    seen, compiled = tmp_path / "seen", tmp_path / "compiled"
    seen.mkdir()
    own = {
        "STEPMARK_TEST_SEEN": str(seen),
        "TRITON_CACHE_DIR": str(compiled),
        "TRITON_INTERPRET": "0",  # as for a user: what compiled would leave files
    }
    stepmark = CommandLine(home=tmp_path, extra=own).knows_ceilings()
    bench = str(benches / "bench_untouched.py")
    done = stepmark("run", bench, *QUICK, "--device", "cpu", "--format", "json")
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    told = {file.name: {*file.read_text().split()} for file in seen.iterdir()}
    assert len(told) == len(trials), "every solo pass and every launch is a process that told"
    assert set().union(*told.values()) <= torchs_own()
    assert not compiled.exists()
