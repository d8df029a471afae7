"""Fresh interpreters: files of the current folder are no modules of ours, and bench files still find them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stepmark.engines.interpreter import interpreter

pytestmark = [pytest.mark.process, pytest.mark.beside]

ASKED = """
import stepmark, random, sys
from stepmark.engines.interpreter import search_current_folder
before = "" in sys.path
search_current_folder()
search_current_folder()
print(stepmark.__file__, random.__file__, before, sys.path.count(""), sys.argv[1:])
"""


def said(folder: Path, **environment: str) -> list[str]:
    for name in ("stepmark", "random"):
        (folder / f"{name}.py").write_text("raise SystemExit('of the current folder')\n")
    done = subprocess.run(
        interpreter(ASKED, 5, 7),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(maxsplit=4)


def test_modules_of_the_current_folder_come_after_ours(tmp_path: Path) -> None:
    ours, theirs, *rest = said(tmp_path)
    assert not {Path(ours).parent, Path(theirs).parent} & {tmp_path}
    assert rest == ["False", "1", "['5', '7']\n"]


def test_who_asks_for_a_safe_path_has_one(tmp_path: Path) -> None:
    *_, times, _ = said(tmp_path, PYTHONSAFEPATH="1")
    assert times == "0"
