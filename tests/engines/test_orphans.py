"""Orphans: real processes that their parents left behind, adopted and ended; what was there before stays."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.beside,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="adoption is Linux's"),
]

SCRIPT = """
import os, subprocess, sys
import psutil
from stepmark.engines.orphans import Orphans

def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False

own = subprocess.Popen(["sleep", "60"])
orphans = Orphans()
orphans.spare()
leaver = "import subprocess as s; "
leaver += "print(s.Popen(['sleep', '60'], start_new_session=True, stdout=s.DEVNULL, stderr=s.DEVNULL).pid)"
left = int(subprocess.run([sys.executable, "-c", leaver], capture_output=True, text=True).stdout)
assert alive(left), "it outlived its parent"
assert psutil.Process(left).ppid() == os.getpid(), "and was adopted"
orphans.end()
os.waitpid(left, 0)
assert not alive(left)
assert alive(own.pid), "what was spared goes on"
own.kill()
own.wait()
orphans.end()
"""


def test_what_is_left_behind_is_adopted_and_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
