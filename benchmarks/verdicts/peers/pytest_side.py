"""pytest-benchmark: a test file of one benchmark, run by pytest with `--benchmark-max-time`."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from benchmarks.verdicts.peers.side_order import Answer, answer, order

TEST = """\
from benchmarks.verdicts.peers.side_order import build, order

call = build(order())

def test_call(benchmark):
    benchmark(call)
"""


def main() -> None:
    import pytest
    import torch  # noqa: F401 - imported here, it is not part of the time

    side = order()
    with tempfile.TemporaryDirectory() as folder:
        test, found = Path(folder, "test_side.py"), Path(folder, "found.json")
        test.write_text(TEST)
        begin = time.perf_counter()
        code = pytest.main(
            [
                *(str(test), "-q", f"--rootdir={folder}", "-p", "no:cacheprovider"),
                *(f"--benchmark-max-time={side.seconds}", f"--benchmark-json={found}"),
            ]
        )
        measuring = time.perf_counter() - begin
        if code:
            raise SystemExit(f"pytest ended with {code}")
        stats = json.loads(found.read_text())["benchmarks"][0]["stats"]
    answer(
        Answer(
            minimum=stats["min"],
            median=stats["median"],
            mean=stats["mean"],
            num=stats["rounds"],
            measuring=measuring,
        )
    )


if __name__ == "__main__":
    main()
