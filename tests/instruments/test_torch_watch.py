"""The watch of a worker: each counter moves when its own thing happens, and asking is cheap."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
import torch

from stepmark.instruments.torch_watch import ResidentMemory, TorchWatch
from stepmark.measure.journal import JournalWriter, new_journal_file
from stepmark.measure.protocol import Began


def touched(num_bytes: int) -> mmap.mmap:
    """Private memory, page by page."""
    pages = mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, num_bytes, mmap.PAGESIZE):
        pages[place] = 1
    return pages


def memory(watch: TorchWatch) -> int:
    reading = watch.memory()
    assert reading is not None
    return reading


def test_memory_comes_and_goes() -> None:
    watch = TorchWatch("cpu")
    before = memory(watch)
    with touched(32 << 20):
        assert 30 << 20 <= memory(watch) - before <= 40 << 20
    assert abs(memory(watch) - before) < 4 << 20


def test_the_journal_is_no_growth() -> None:
    file = new_journal_file()
    journal = JournalWriter(file)
    os.close(file)
    watch = TorchWatch("cpu")
    before = memory(watch)
    for _ in range(200_000):
        journal.append(Began(pid=1, threads=1))
    assert memory(watch) - before < 2 << 20, "of more than 8 MiB that were written"


@pytest.mark.parametrize("text", ["", "what?", "1 x 2 3", "12"])
def test_memory_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "statm"
    assert ResidentMemory(str(file))() is None
    file.write_text(text)
    assert ResidentMemory(str(file))() is None


def test_resident_pages_without_the_shared_ones(tmp_path: Path) -> None:
    file = tmp_path / "statm"
    file.write_text("9000 1200 200 1 0 3000 0\n")
    assert ResidentMemory(str(file))() == 1000 * mmap.PAGESIZE


def test_compilations_and_tuning_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch._dynamo.utils

    times: dict[str, list[float]] = {"_compile.compile_inner": [0.5], "bytecode_tracing": [9.0]}
    monkeypatch.setattr(torch._dynamo.utils, "compilation_time_metrics", times)
    watch = TorchWatch("cpu")
    assert watch.compilations() == 1
    times["_compile.compile_inner"].append(0.1)
    times["bytecode_tracing"].append(9.0)
    assert watch.compilations() == 2
    times["backward._backward_impl"] = [0.2]
    times["mm_template_autotuning"] = [0.3, 0.4]
    assert watch.compilations() == 5
    times.clear()
    assert watch.compilations() == 0


def test_a_real_recompilation_is_seen() -> None:
    watch = TorchWatch("cpu")
    step = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    counts = [watch.compilations()]
    for size in (2, 2, 3):
        step(torch.zeros(size))
        counts.append(watch.compilations())
    assert [after - before for before, after in pairwise(counts)] == [1, 0, 1]


def test_looking_does_not_import_torchs_compiler() -> None:
    code = (
        "import sys, stepmark.instruments.torch_watch as w\n"
        "known = set(sys.modules); seen = w.TorchWatch('cpu').compilations()\n"
        "assert not [name for name in set(sys.modules) - known if name.startswith('torch')]\n"
        "assert seen == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_asking_costs_less_than_a_small_layer() -> None:
    """Some fifty readings of the clock each; the smallest block is 500 µs."""
    watch, layer, data = TorchWatch("cpu"), torch.nn.Linear(64, 64), torch.zeros(64, 64)

    def seconds(act: Callable[[], object]) -> float:
        begin = time.perf_counter()
        for _ in range(200):
            act()
        return time.perf_counter() - begin

    def typical(act: Callable[[], object]) -> float:
        return median(seconds(act) for _ in range(9))

    limit = 2 * typical(lambda: layer(data))
    assert typical(watch.compilations) < limit
    assert typical(watch.memory) < limit
