"""The real command line in real processes, with nothing of the tester's own state."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import torch

from stepmark.instruments.host_facts import host_facts
from stepmark.pipeline import ENOUGH_CEILINGS
from stepmark.records.ceilings import Ceilings, machine_name
from stepmark.store.store import Store

QUICK = ("--preset", "quick", "--launches", "2", "--timeout", "20s")
"""Enough for a whole run, as short as it gets."""


@dataclass
class CommandLine:
    """`stepmark` with a store and a home of its own; processes it starts can be found by its tag."""

    home: Path
    tag: str = field(default_factory=lambda: uuid.uuid4().hex)
    extra: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    """What stands before the command: a mount, for instance."""

    @property
    def store(self) -> Path:
        return self.home / "data" / "stepmark" / "stepmark.db"

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "STEPMARK_TEST_TAG": self.tag,
        }
        kept = {name: value for name, value in os.environ.items() if name != "STEPMARK_STORE"}
        return {**kept, "COLUMNS": "80", **own, **self.extra}

    def knows_ceilings(self) -> CommandLine:
        """With ceilings in its store, as after three runs, so that the next one does not measure them for
        seconds; they are so high that nothing comes near."""
        host = host_facts()
        far = Ceilings(
            device="cpu",
            threads=1,
            torch=str(torch.__version__),
            host=machine_name(host.hostname, host.cpu_model),
            measured=1.8e9,
            copy_memory=1e15,
            copy_cache=1e15,
        )
        self.store.parent.mkdir(parents=True)
        with Store.open(f"sqlite:///{self.store}") as store:
            for _ in range(ENOUGH_CEILINGS):
                store.add_ceilings(far)
        return self

    def start(self, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.before, sys.executable, "-m", "stepmark", *arguments],
            env=self.environment,
            cwd=cwd or self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def __call__(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, cwd=cwd)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def leftovers(self) -> list[int]:
        """Processes that this command line started and that still live."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("STEPMARK_TEST_TAG") == self.tag:
                    found.append(process.pid)
            except psutil.Error:
                continue
        return found
