"""The command line in this process: real workers and a real store, without seconds of imports a command."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from stepmark.cli import main, measuring
from stepmark.engines import local
from stepmark.engines.local import LocalEngine
from stepmark.records.settings import Settings
from tests.support.commands import CommandLine


@dataclass(frozen=True)
class CommandsHere:
    """What a CommandLine does, with its home and its store, for tests that look at what a command did and not
    at its process: that takes a second to import what this one has, and two for a fork server with torch."""

    line: CommandLine
    monkeypatch: pytest.MonkeyPatch
    capfd: pytest.CaptureFixture[str]

    def settle(self, engine: LocalEngine) -> CommandsHere:
        """In the place and environment of the command line, with the workers of an engine that goes on."""
        self.monkeypatch.chdir(self.line.home)
        self.monkeypatch.delenv("STEPMARK_STORE", raising=False)
        for name, value in self.line.environment.items():
            self.monkeypatch.setenv(name, value)

        def at_work(settings: Settings, *, start: str = "fork", **_: Any) -> LocalEngine:
            assert (settings.threads, start) == (1, "fork"), "what the engine was started with"
            return engine

        self.monkeypatch.setattr(engine, "close", lambda: None)
        self.monkeypatch.setattr(measuring, "LocalEngine", at_work)
        self.monkeypatch.setattr(local, "LocalEngine", at_work)
        return self

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.monkeypatch.setattr(sys, "argv", ["stepmark", *arguments])
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = self.capfd.readouterr()
        assert isinstance(end.value.code, int)
        return subprocess.CompletedProcess(arguments, end.value.code, out, err)
