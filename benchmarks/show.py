"""How long `stepmark show` takes for a run of 1000 cases: start, load, judge, audit and print."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from stepmark.store.store import Store
from tests.support.recordings import make_recording

REPEATS = 3


def main() -> None:
    for num_launches, num_rounds in ((10, 60), (12, 300)):
        _show(num_launches, num_rounds)


def _show(num_launches: int, num_rounds: int) -> None:
    recording = make_recording(
        axes={"features": range(500)}, num_launches=num_launches, num_rounds=num_rounds
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "runs.db"
        with Store.open(f"sqlite:///{place}") as store:
            store.begin(recording.run)
            for trial in recording.trials:
                store.append(recording.run.id, trial)
        command = [str(Path(sys.executable).parent / "stepmark"), "show", "--store", str(place)]
        times = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times.append(time.perf_counter() - begin)
    print(
        f"stepmark show, {len(recording.run.cases)} cases, {num_launches} launches of {num_rounds} rounds: "
        f"{median(times):.2f} s ({min(times):.2f} to {max(times):.2f}), {done.stdout.count(chr(10))} lines"
    )


if __name__ == "__main__":
    main()
