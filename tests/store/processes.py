"""Starting the programs of this folder, where needed inside a private mount."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


def start(*arguments: object, inside: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*inside, sys.executable, "-m", "tests.store.programs", *map(str, arguments)]
    return subprocess.Popen(command, cwd=_ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """What the program printed."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def run(*arguments: object, inside: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return finish(start(*arguments, inside=inside))
