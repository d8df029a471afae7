"""How long commands take to start, beside `import torch`, and a worker to its bench file's import.

Everything is run in turn, in fresh random order every round, so that all see the same machine.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from stepmark.engines.local import LocalEngine
from stepmark.engines.process import WorkerProcess
from stepmark.measure.requests import Describe
from stepmark.records.settings import Settings
from stepmark.records.source import FileSource

ROUNDS = 11
BENCH = """
import torch
import stepmark as sm
suite = sm.Suite("mine")
@suite.variant
def layer(c):
    return sm.Step(torch.nn.Linear(8, 8), inputs=sm.randn(4, 8))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Path(folder) / "bench_mine.py"
        bench.write_text(BENCH)
        engine = LocalEngine(Settings())
        engine.describe([FileSource(path=str(bench))], "cpu")  # the server is up, as in any run
        try:
            times = _measure(_contestants(engine, bench))
        finally:
            engine.close()
    torch = median(times["import torch"])
    for name, values in times.items():
        print(f"{name:34} {median(values) * 1e3:8.1f} ms   {median(values) / torch:6.3f} of import torch")


def _contestants(engine: LocalEngine, bench: Path) -> dict[str, Callable[[], object]]:
    def command(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run(words, cwd=bench.parent, check=True, capture_output=True)

    stepmark = str(Path(sys.executable).parent / "stepmark")
    return {
        "import torch": command(sys.executable, "-c", "import torch"),
        "stepmark --help": command(stepmark, "--help"),
        "stepmark list": command(stepmark, "list"),
        "a worker, bench file imported": lambda: _worker(engine, bench),
    }


def _worker(engine: LocalEngine, bench: Path) -> None:
    """From the request to the end of a worker that imports the bench file and describes it."""
    request = Describe(sources=(FileSource(path=str(bench)),), device="cpu", threads=1)
    worker = WorkerProcess(engine._nursery, request, timeout=60.0)
    worker.join(lambda: None)
    assert worker.finished is not None
    worker.close()


def _measure(contestants: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    shuffle = random.Random(0).shuffle
    for _ in range(ROUNDS):
        shuffle(order)
        for name in order:
            begin = time.perf_counter()
            contestants[name]()
            times[name].append(time.perf_counter() - begin)
    return times


if __name__ == "__main__":
    main()
