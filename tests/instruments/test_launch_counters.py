"""Counters around a launch: who used the processor, and what held it back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments.descendants import descendants_seconds
from stepmark.instruments.launch_counters import Counters, activity_between, read_counters
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.records.trial import LaunchActivity
from tests.instruments.trees import plant
from tests.support.properties import steady

CPU = "sys/devices/system/cpu"


def moment(
    root: Path, *, user: int, idle: int, stolen: int, own: int, held_back: int, hot: int
) -> PseudoFiles:
    """A machine of some ticks, with the runner 7 and its server 8, whose name is made to confuse."""
    return plant(
        root,
        {
            "proc/stat": f"cpu  {user} 0 10 {idle} 5 1 2 {stolen} 99 99\ncpu0 1 1",
            "proc/7/stat": f"7 (python) S 1 7 7 0 -1 0 0 0 0 0 {own} 1 2 3 20 0",
            "proc/8/stat": f"8 (a) b (c) S 7 8 8 0 -1 0 0 0 0 0 0 0 {own} 0 20 0",
            "proc/self/cgroup": "0::/box",
            "sys/fs/cgroup/cgroup.controllers": "cpu",
            "sys/fs/cgroup/box/cpu.stat": f"nr_throttled 3\nthrottled_usec {held_back}",
            f"{CPU}/cpu0/thermal_throttle/core_throttle_count": str(hot),
        },
    )


def test_differences_of_two_readings(tmp_path: Path) -> None:
    before = read_counters(
        moment(tmp_path, user=1000, idle=5000, stolen=50, own=100, held_back=1_000_000, hot=4),
        (7, 8),
        now=lambda: 10.0,
    )
    after = read_counters(
        moment(tmp_path, user=1300, idle=5060, stolen=90, own=200, held_back=1_250_000, hot=6),
        (7, 8),
        now=lambda: 12.0,
    )
    seen = activity_between(before, after, ticks_per_second=100)
    assert seen.stolen == 40 / 400
    assert seen.others == (300 - 200) / 100 / 2.0
    assert seen.quota_seconds == pytest.approx(0.25)
    assert (seen.throttles, seen.throttle_reasons, seen.megahertz) == (2, (), None)
    own = activity_between(before, after, own_seconds=0.6, ticks_per_second=100)
    assert own.others == pytest.approx(0.2), "descendants that still lived when their worker was done"


def test_version_1_of_control_groups(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/cpu,cpuacct/box"
    texts = {"proc/self/cgroup": "4:cpu,cpuacct:/box", f"{group}/cpu.stat": "throttled_time 1000000000"}
    before = read_counters(plant(tmp_path, texts), ())
    after = read_counters(plant(tmp_path, {f"{group}/cpu.stat": "throttled_time 1500000000"}), ())
    assert activity_between(before, after).quota_seconds == pytest.approx(0.5)


def test_nothing_can_be_read(tmp_path: Path) -> None:
    counters = read_counters(PseudoFiles(tmp_path), (7,))
    assert activity_between(counters, counters) == LaunchActivity()
    nonsense = plant(tmp_path, {"proc/stat": "cpu what?", "proc/7/stat": "\x00", "proc/self/cgroup": "::"})
    counters = read_counters(nonsense, (7,))
    assert activity_between(counters, counters) == LaunchActivity()


def test_a_family_that_is_half_gone_says_nothing_of_others(tmp_path: Path) -> None:
    files = moment(tmp_path, user=1, idle=1, stolen=1, own=1, held_back=1, hot=1)
    assert read_counters(files, (7, 9)).family is None


@steady
@given(*[st.integers(0, 10_000)] * 4, st.floats(0.01, 100.0), st.floats(0.0, 10.0))
def test_others_are_never_below_nothing(
    worked: int, own: int, stolen: int, idle: int, seconds: float, descendants: float
) -> None:
    before = Counters(
        moment=0.0, spent=0, stolen=0, worked=0, family=0, held_back={"a": 1.0, "gone": 2.0}, throttles=None
    )
    after = Counters(
        moment=seconds,
        spent=worked + stolen + idle,
        stolen=stolen,
        worked=worked,
        family=own,
        held_back={"a": 1.0, "new": 9.0},
        throttles=3,
    )
    seen = activity_between(before, after, own_seconds=descendants, ticks_per_second=100)
    assert seen.others is not None
    assert 0.0 <= seen.others <= worked / 100 / seconds
    assert seen.stolen is None or 0.0 <= seen.stolen <= 1.0
    assert (seen.quota_seconds, seen.throttles) == (0.0, None)


def test_work_of_this_process_is_its_own() -> None:
    files = PseudoFiles()
    before = read_counters(files, (os.getpid(),))
    begin = time.process_time()
    while time.process_time() - begin < 0.2:
        pass
    after = read_counters(files, (os.getpid(),))
    if before.family is None or after.family is None:
        pytest.skip("/proc is not there")
    assert after.family - before.family >= 0.15 * os.sysconf("SC_CLK_TCK")


def test_living_descendants_are_counted() -> None:
    before = descendants_seconds()
    busy = "import sys, time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-c", busy]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert descendants_seconds() - before >= 0.1, "in ticks of 10 ms"
        child.kill()
