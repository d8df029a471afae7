"""Triton's hash of itself: seen where it was asked for, and the same wherever it is worked out."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("triton")

PROGRAM = """
import sys
from stepmark.engines.triton_start import is_worked_out, work_out
assert not is_worked_out(), "nothing imported it"
assert "triton" not in sys.modules
import triton.runtime.cache
assert not is_worked_out(), "imported is not asked for"
work_out()
assert is_worked_out()
hits = triton.runtime.cache.triton_key.cache_info().hits
triton.runtime.cache.triton_key()
assert triton.runtime.cache.triton_key.cache_info().hits == hits + 1, "what a kernel asks for is there"
"""


@pytest.mark.process
def test_it_is_worked_out_once_and_only_when_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
