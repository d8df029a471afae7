"""What tests of several rooms share: quick settings, the bench files, an engine of real processes."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from stepmark.engines.local import LocalEngine
from stepmark.records.settings import Settings
from tests.support.commands import CommandLine
from tests.support.commands_here import CommandsHere

if not torch.cuda.is_available():
    # Kernels are tested in Triton's interpreter. Triton decides for its own functions when it is imported: by
    # torch.utils.flop_counter, which the inspection needs.
    os.environ["TRITON_INTERPRET"] = "1"

# Threads of operators in two test processes on two cores spin for each other: with two threads each, beside
# other work, the generated benchmarks and the built-in suites took 94 s, with one 16 s.
torch.set_num_threads(1)

# On a busy machine any example, and the making of any, may take longer than Hypothesis expects.
settings.register_profile("stepmark", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stepmark")

BENCHES = Path(__file__).parent / "benches"


LONG = (
    *("zoo/", "store/", "browser/", "instruments/inspection/", "instruments/test_torch_watch.py"),
    *("benchmarks/test_hopper.py",),
    *("test_pipeline.py", "test_selftest.py", "suites/test_builtin_suites.py"),
    *("web/test_web_pages.py", "web/test_web_admission.py", "web/test_web_upload.py"),
    *("cli/test_doctor_command.py", "cli/test_mistakes.py", "cli/test_plot_command.py"),
    *("cli/test_stored_runs.py", "cli/test_compare_command.py"),
    *("analysis/test_simulated_", "analysis/test_referee.py", "analysis/test_judge.py"),
    *("stats/test_simulated_", "stats/test_changepoint.py", "stats/test_criterion_change.py"),
    *("stats/test_unpaired.py", "measure/test_lane.py", "measure/test_schedule_decisions.py"),
    *("report/figures/test_figure_specs.py", "report/figures/test_sweep_figure.py"),
    *("report/html/test_page_document.py", "report/test_criterion_text.py"),
)
"""Where most tests take long: kernels in the interpreter, simulations, databases, a browser. They are no
part of `make check`; the inner loop of somebody who works on one of them is its folder or file."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long folders and files are marked; tests marked gpu say why they are skipped where there is none."""
    skip = pytest.mark.skip(reason="needs a CUDA device")
    here = Path(__file__).parent
    for item in items:
        if str(item.path).removeprefix(f"{here}/").startswith(LONG):
            item.add_marker(pytest.mark.long)
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    """Commands that are about to leave turn the garbage collector off; a test does not leave."""
    yield
    gc.enable()


@pytest.fixture(scope="session")
def benches() -> Path:
    """The folder of bench files written for the tests."""
    return BENCHES


@pytest.fixture(scope="session")
def quick() -> Settings:
    """The least measuring that still is the whole protocol."""
    return Settings(
        launches=2,
        round_seconds=0.01,
        min_rounds=4,
        max_rounds=8,
        block_seconds=0.001,
        warmup_seconds=0.005,
        warmup_cap=0.5,
        timeout=60.0,
    )


@pytest.fixture(scope="session")
def engine(quick: Settings) -> Iterator[LocalEngine]:
    """One fork server for all tests that need real workers."""
    local = LocalEngine(quick)
    yield local
    local.close()


@pytest.fixture
def here(
    engine: LocalEngine,
    stepmark: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[CommandsHere]:
    """The `stepmark` of a test file in this process, with the workers of the engine that all tests have."""
    before = signal.getsignal(signal.SIGTERM)
    yield CommandsHere(stepmark, monkeypatch, capfd).settle(engine)
    signal.signal(signal.SIGTERM, before)
