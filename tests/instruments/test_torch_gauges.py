"""Gauges of the process: each moves when its own thing happens."""

from __future__ import annotations

import mmap
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stepmark.instruments.torch_gauges import TorchGauges


@pytest.fixture
def gauges() -> TorchGauges:
    return TorchGauges("cpu")


def test_touching_memory_faults_and_grows(gauges: TorchGauges) -> None:
    before = gauges.read()
    with mmap.mmap(-1, 32 << 20) as pages:
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for place in range(0, 32 << 20, mmap.PAGESIZE):
            pages[place] = 1
        after = gauges.read()
    assert after.minor_faults - before.minor_faults >= (32 << 20) // mmap.PAGESIZE
    assert after.resident_bytes - before.resident_bytes >= 30 << 20


def test_threads_are_counted(gauges: TorchGauges) -> None:
    before = gauges.read().threads
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert gauges.read().threads == before + 1
    finally:
        done.set()
        thread.join()


def test_new_modules_are_named_once_by_package(
    gauges: TorchGauges, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "stepmark_gauged"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "inner.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    gauges.new_modules()
    before = gauges.read().modules
    __import__("stepmark_gauged.inner")
    try:
        assert gauges.read().modules == before + 2
        assert gauges.new_modules() == ("stepmark_gauged",)
        assert gauges.new_modules() == ()
    finally:
        del sys.modules["stepmark_gauged"], sys.modules["stepmark_gauged.inner"]


def test_the_spin_and_a_fault_take_time(gauges: TorchGauges) -> None:
    assert gauges.read().spin_nanoseconds > 1000
    assert 1e-8 < gauges.seconds_per_fault() < 1e-2


def test_reading_does_not_import_torchs_compiler() -> None:
    code = (
        "import sys, stepmark.instruments.torch_gauges as g\n"
        "known = set(sys.modules); reading = g.TorchGauges('cpu').read()\n"
        "assert not [name for name in set(sys.modules) - known if name.startswith('torch')]\n"
        "assert (reading.compilations, reading.compile_seconds, reading.device_bytes) == (0, 0.0, 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_compilations_are_torchs_own_count(gauges: TorchGauges, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch._dynamo.utils

    times = {
        "_compile.compile_inner": [0.5, 0.25],
        "backward._backward_impl": [0.125],
        "CachingAutotuner.benchmark_all_configs": [0.1],
        "mm_template_autotuning": [0.2],
        "bytecode_tracing": [9.0],
    }
    monkeypatch.setattr(torch._dynamo.utils, "compilation_time_metrics", times)
    reading = gauges.read()
    assert (reading.compilations, reading.compile_seconds) == (3, 0.875)
    assert reading.autotune_seconds == pytest.approx(0.3)
