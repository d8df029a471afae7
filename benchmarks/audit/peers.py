"""What other tools say of the same mistakes: two by running them, one by its documentation.

`python -m benchmarks.audit.peers FILE VARIANT` times one case with torch.utils.benchmark and with
pytest-benchmark in a process of its own, and prints what they told besides a number.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from benchmarks.audit.gallery import Mistake
from benchmarks.audit.measuring import busy_processes
from stepmark.records.record import Record

RECORD = Path(__file__).parent / "data" / "peers.json"
SILENT = "a number"
TOOLS = ("pytest", "torch")
TORCH_SECONDS = 0.2
TRIES = 3
LONGEST = 120.0
"""Seconds that the two tools may take together."""

TRITON: dict[str, str] = {
    "gradients-accumulate": "a number; `grad_to_none` clears gradients where it is given",
    "host-bound": "a number; its documentation offers `do_bench_cudagraph`",
}
"""What triton.testing's documentation has to do with a finding. `do_bench` times calls with events, clears a
cache before each, and returns quantiles; nothing else is documented to be looked at."""

TEST = """
from benchmarks.audit.peers import iteration

def test_mistake(benchmark):
    benchmark({iteration})
"""


class PeerWords(Record, frozen=True, kw_only=True):
    """What each tool that ran told of one mistake."""

    torch: str
    pytest: str


def words_of_peers(mistake: Mistake) -> PeerWords:
    """Both tools in a fresh process, beside busy ones where the mistake is about them. What they say of the
    mended twin as well, they say of the machine."""
    with busy_processes(mistake.company):
        told = _ask(mistake.path, mistake.variant)
    loud = [tool for tool, words in told.items() if words != SILENT]
    if loud and not mistake.company:
        twin = _ask(mistake.mended.path, mistake.variant, *loud)
        told |= {tool: SILENT for tool in loud if told[tool] == twin[tool]}
    return PeerWords(torch=told["torch"], pytest=told["pytest"])


def triton_says(mistake: Mistake) -> str:
    """By its documentation."""
    return TRITON.get(mistake.finding, SILENT)


def _ask(path: Path, variant: str, *tools: str) -> dict[str, str]:
    command = [sys.executable, "-m", "benchmarks.audit.peers", str(path), variant, *tools]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return dict.fromkeys(tools or TOOLS, "no end")
    if done.returncode != 0:
        raise RuntimeError(f"{path.name}: {done.stderr[-2000:]}")
    told: dict[str, str] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def recorded() -> dict[str, PeerWords]:
    """By mistake, as they were told when it was last asked."""
    return msgspec.json.decode(RECORD.read_bytes(), type=dict[str, PeerWords])


def record(words: Mapping[str, PeerWords]) -> None:
    """Keep them, readable."""
    text = msgspec.json.format(msgspec.json.encode(dict(sorted(words.items()))), indent=1)
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_bytes(text + b"\n")


def iteration(path: str, variant: str) -> Callable[[], None]:
    """One iteration of the case, without any clock of stepmark's."""
    from stepmark.authoring.load import load
    from stepmark.instruments.torch_binding import bind
    from stepmark.measure.expand import expand
    from stepmark.records.source import FileSource

    (suite,) = load(FileSource(path=path))
    cases = expand([suite.outline()], condition=None, device="cpu")
    own = [case for case in cases if case.variant == variant] or list(cases)
    case = own[len(own) // 2]
    return bind(suite.variants[case.variant], case, seed=1).iterate


def torch_says(iterate: Callable[[], None]) -> str:
    """What it tells every time: on a busy machine it remarks on the spread now and then, of anything."""
    told = [_torch_says_once(iterate) for _ in range(TRIES)]
    return SILENT if SILENT in told else told[-1]


def _torch_says_once(iterate: Callable[[], None]) -> str:
    from torch.utils.benchmark import Timer

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            timer = Timer("iterate()", globals={"iterate": iterate})
            measurement = timer.blocked_autorange(min_run_time=TORCH_SECONDS)
        except Exception as error:
            return f"fails: {type(error).__name__}"
    lines = [line.strip() for line in str(measurement).splitlines() if "WARNING" in line]
    lines += [str(one.message).partition("\n")[0] for one in caught]
    return _shortened(lines)


def pytest_says(path: str, variant: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        test = Path(folder) / "test_mistake.py"
        test.write_text(TEST.format(iteration=f"iteration({path!r}, {variant!r})"), encoding="utf-8")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", folder, str(test)),
                *("-p", "no:cacheprovider", "--benchmark-max-time=0.2", "--benchmark-columns=median"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if "Warning" in line]
    failed = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    return f"fails: {failed[0][1:].strip().partition(':')[0]}" if failed else _shortened(lines)


def _shortened(lines: list[str]) -> str:
    """Of all that was said, the kinds."""
    if any("range is" in line for line in lines):
        return "a number, with a remark on its spread"
    return f"a number, with `{lines[0][:60]}`" if lines else SILENT


def main() -> None:
    path, variant, *tools = sys.argv[1:]
    asked = {
        "pytest": lambda: pytest_says(path, variant),
        "torch": lambda: torch_says(iteration(path, variant)),
    }
    print(json.dumps({tool: asked[tool]() for tool in tools or TOOLS}))


if __name__ == "__main__":
    main()
