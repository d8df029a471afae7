"""The fork server's nursery with a real server: what it imports, and when it must not fork any more."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepmark.engines.nurseries import ForkNursery
from stepmark.errors import EngineError

pytestmark = pytest.mark.process

ASKS = """
import os
from pathlib import Path
Path(__file__).with_suffix(".seen").write_text(os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK", "nothing"))
"""
WORKS_OUT = """
from pathlib import Path
def answer():
    Path(__file__).with_suffix(".seen").write_text("worked out")
"""
SPOILS = """
import os, torch
def poisoned():
    torch.cuda._is_in_bad_fork = lambda: True
os.register_at_fork(after_in_child=poisoned)
"""
STARTS_A_THREAD = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""
ENDS = "import os; os._exit(3)"
HANGS = "import time; time.sleep(3600)"


@pytest.fixture(scope="module")
def nursery() -> Iterator[ForkNursery]:
    nursery = ForkNursery(os.environ)
    yield nursery
    nursery.close()


def module(folder: Path, name: str, text: str) -> tuple[list[str], list[str]]:
    (folder / f"{name}.py").write_text(text)
    return [name], [str(folder)]


def test_imports_count_devices_without_asking_cuda(nursery: ForkNursery, tmp_path: Path) -> None:
    for name in ("asks_first", "asks_again"):
        assert nursery.preload(*module(tmp_path, name, ASKS))
        assert (tmp_path / f"{name}.seen").read_text() == "1"


def test_a_module_that_cannot_be_imported_does_no_harm(nursery: ForkNursery, tmp_path: Path) -> None:
    assert nursery.preload(*module(tmp_path, "raises_at_once", "raise SystemExit(3)"))
    assert nursery.preload(["no_such_module"], [])


def test_what_every_worker_would_work_out_is_worked_out_once(nursery: ForkNursery, tmp_path: Path) -> None:
    (name,), path = module(tmp_path, "works_out", WORKS_OUT)
    assert nursery.preload([name, f"{name}:answer", f"{name}:missing"], path)
    assert (tmp_path / f"{name}.seen").read_text() == "worked out"


@pytest.mark.parametrize(("name", "text"), [("spoils", SPOILS), ("starts_a_thread", STARTS_A_THREAD)])
def test_it_says_so_when_children_could_not_use_a_device(name: str, text: str, tmp_path: Path) -> None:
    nursery = ForkNursery(os.environ)
    try:
        assert not nursery.preload(*module(tmp_path, name, text))
    finally:
        nursery.close()


@pytest.mark.parametrize(("name", "text"), [("ends", ENDS), ("hangs", HANGS)])
def test_a_server_that_an_import_ends_or_holds_up_is_replaced(name: str, text: str, tmp_path: Path) -> None:
    (harmless,), path = module(tmp_path, f"asks_before_it_{name}", ASKS)
    (culprit,), _ = module(tmp_path, name, text)
    seen = tmp_path / f"{harmless}.seen"
    nursery = ForkNursery(os.environ)
    try:
        assert nursery.preload([harmless], path)
        first = nursery.pid
        seen.unlink()
        nursery.patience = 1.0
        assert nursery.preload([culprit], path)
        nursery.patience = 60.0
        second = nursery.pid
        assert second != first
        assert nursery.preload([harmless, culprit], path)
        assert nursery.pid == second, "no other server is asked to import what ended one"
        assert seen.exists(), "what the first one had imported is imported again"
    finally:
        nursery.close()


@pytest.mark.parametrize(
    ("number", "limit"), [(signal.SIGCHLD, None), (None, 256), (None, 64)], ids=["blocked", "256", "64"]
)
def test_workers_end_well_under_what_a_runner_may_inherit(number: int | None, limit: int | None) -> None:
    """A blocked SIGCHLD, which tells the server that a worker has ended, and few descriptors."""
    program = (
        "from stepmark.engines.local import LocalEngine\n"
        "from stepmark.records.settings import Settings\n"
        "from stepmark.records.source import BuiltinSource\n"
        "engine = LocalEngine(Settings(threads=1, timeout=10.0))\n"
        "print(engine.describe([BuiltinSource(name='demo')], 'cpu').device)\n"
        "engine.close()\n"
    )

    def inherit() -> None:
        if number is not None:
            signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    command = [sys.executable, "-c", program]
    done = subprocess.run(command, preexec_fn=inherit, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "cpu\n"), done.stderr


def test_where_no_server_can_be_had_its_last_words_are_told(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os.write(2, b'not today'); os._exit(3)")
    nursery = ForkNursery({**os.environ, "PYTHONPATH": str(tmp_path)})
    try:
        with pytest.raises(EngineError, match="it left with exit code 3") as caught:
            nursery.preload(["json"], [])
    finally:
        nursery.close()
    assert caught.value.detail == "not today"
