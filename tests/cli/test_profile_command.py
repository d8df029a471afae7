"""`stepmark profile` with real processes: a known step in every format, its trace, its cost, plain runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandLine
from tests.support.commands_here import CommandsHere

pytestmark = [pytest.mark.process, pytest.mark.beside]

BENCH = Path(__file__).parents[1] / "benches" / "bench_profile.py"
QUICK = ("--iterations", "2", "--launches", "2", "--rounds", "3")


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path)


def test_json_of_a_training_step_with_its_trace(stepmark: CommandLine) -> None:
    done = stepmark(
        *("profile", str(BENCH), "--case", "dense", *QUICK, "--format", "json", "--trace", "trace.json")
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    summary, recording = document["summary"], document["recording"]
    phases = {phase["phase"]: phase for phase in summary["phases"]}
    assert list(phases) == ["forward", "loss", "backward", "optimizer"]
    forward = {row["name"]: row for row in phases["forward"]["operations"]}
    assert forward["aten::addmm"]["calls"] == 1
    assert forward["aten::addmm"]["is_product"]
    assert 0 < phases["forward"]["products_share"] < 1
    assert phases["optimizer"]["products_share"] == 0
    assert summary["memory"]["peak"]["num_bytes"] > 2 * 32 * 64 * 4
    assert [cost["phase"] for cost in summary["cost"]] == ["step", *phases]
    assert all(cost["ratio"]["num_launches"] == 2 for cost in summary["cost"])
    pids = {launch["process"]["pid"] for launch in recording["cost"]["launches"]}
    assert len(pids | {recording["tracing"]["process"]["pid"]}) == 3, "never while timing: processes apart"
    trace = json.loads((stepmark.home / "trace.json").read_text())
    names = [event["name"] for event in trace["traceEvents"]]
    for phase in phases:
        assert names.count(f"phase:{phase}") == 2
    assert recording["trace_file"] == str(stepmark.home / "trace.json")
    assert not stepmark.store.exists(), "nothing is stored"
    assert not stepmark.leftovers()


def test_the_report_on_a_terminal_of_80_columns(here: CommandsHere) -> None:
    done = here("profile", str(BENCH), "--case", "dense", *QUICK)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for text in ("matrix products", "aten::addmm ×", "idle on the", "unprofiled", "peak", "not stored"):
        assert text in done.stdout
    assert "NVTX" not in done.stdout


def test_named_operations_in_markdown(here: CommandsHere) -> None:
    done = here("profile", str(BENCH), "--case", "two", *QUICK, "--format", "markdown", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "### `profiled_parts/two`" in done.stdout
    assert "| aten::mm × |" in done.stdout
    assert "| both |" in done.stdout
    assert done.stderr == ""


def test_nvtx_says_what_a_cpu_has_not_and_prints_the_commands(
    stepmark: CommandLine, here: CommandsHere
) -> None:
    options = ("--set", "features=32", "--seed", "3", "--threads", "1")
    done = here("profile", str(BENCH), "--case", "dense", *QUICK, *options, "--nvtx")
    assert done.returncode == 0, done.stderr
    assert "no NVTX ranges were emitted: this case ran on a CPU" in " ".join(done.stdout.split())
    text = done.stdout[done.stdout.index("nsys profile") : done.stdout.index("nsys stats")]
    words = shlex.split(text.replace("\\\n", " "))
    ran = words[words.index("python") :]
    case = "profiled/dense[features=32]/cuda/float32/train"
    assert ran[:5] == ["python", "-m", "stepmark", "profile", str(BENCH)]
    for pair in (("--case", case), ("--device", "cuda"), ("--set", "features=32"), ("--seed", "3")):
        assert list(pair) == ran[ran.index(pair[0]) :][:2]
    assert ran[-3:] == ["--nvtx", "--bare", "2"]
    on_cpu = [word.replace("cuda", "cpu") for word in ran[3:]]
    bare = stepmark(*on_cpu)
    assert bare.returncode == 0, bare.stderr
    assert bare.stdout == (
        "2 iterations of profiled/dense[features=32]/cpu/float32/train, "
        "without NVTX ranges, which need a CUDA device\n"
    )


def test_bare_is_this_process_and_no_worker(stepmark: CommandLine, tmp_path: Path) -> None:
    bench = tmp_path / "bench_pid.py"
    bench.write_text(
        "import os\nimport stepmark as sm\n"
        'suite = sm.Suite("pid", modes=["forward"])\n'
        "@suite.variant(baseline=True)\n"
        "def said(c):\n"
        "    def run(x): print(os.getpid(), os.environ['OMP_NUM_THREADS'])\n"
        "    return sm.Step(run, inputs=sm.randn(2))\n"
    )
    process = stepmark.start("profile", str(bench), "--bare", "4")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    *said, last = out.splitlines()
    assert said == [f"{process.pid} 1"] * 7, "three to warm up, then four"
    assert last == "4 iterations of pid/said[]/cpu/float32/forward, without NVTX ranges"


def test_a_step_that_fails_on_the_way(stepmark: CommandLine, here: CommandsHere) -> None:
    arguments = ("profile", str(BENCH), "--case", "raises", *QUICK)
    done = stepmark(*arguments)
    assert done.returncode == 2
    assert "crashed in warm-up: RuntimeError: not a third time" in done.stderr
    kept = here(*arguments, "--format", "json")
    assert kept.returncode == 3
    document = json.loads(kept.stdout)
    assert "bench_profile.py" in document["recording"]["tracing"]["failure"]["traceback"]
    assert document["summary"] is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--case", "mistaken"), "returned nothing"),
        (("--case", "dense", "--bare", "1", "--device", "tpu"), "there is no device 'tpu'"),
    ],
)
def test_mistakes_as_a_shell_sees_them(
    stepmark: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    check_mistake(stepmark, arguments, expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "the target has 5 cases, and a profile is of one"),
        (("--case", "nobody"), "no case is called 'nobody'"),
        (("--case", "dense", "--trace", "nowhere/trace.json"), "there is no folder"),
        (("--case", "dense", "--trace", "."), "is a folder"),
    ],
)
def test_mistakes(here: CommandsHere, arguments: tuple[str, ...], expected: str) -> None:
    check_mistake(here, arguments, expected)


def check_mistake(stepmark: CommandLine | CommandsHere, arguments: tuple[str, ...], expected: str) -> None:
    done = stepmark("profile", str(BENCH), *arguments)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
