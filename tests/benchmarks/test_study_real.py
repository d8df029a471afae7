"""The study on this machine, as short as it can be: a comparison, a resumed one, a peer, a neighbour."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from itertools import islice, pairwise
from pathlib import Path

import psutil
import pytest

from benchmarks.verdicts import calibration, raw_file
from benchmarks.verdicts.bursts import BURNERS, LONGEST, SHORTEST, bursts, schedule
from benchmarks.verdicts.peers.visit import measure_side
from benchmarks.verdicts.results import Ours, Session
from benchmarks.verdicts.slot import pairs_of_cores
from tests.benchmarks.synthetic import condition, prices

ROOT = Path(__file__).parents[2]


def study(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.verdicts", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.process
def test_a_comparison_is_measured_stored_and_gone_on_with(tmp_path: Path) -> None:
    calibration.save(tmp_path, prices())
    told = ("measure", "--minutes", "0.001", "--seconds", "0.8", "--out", str(tmp_path))
    for rounds in (1, 2):
        done = study(*told, "--only", "stepmark/norm_softmax/1/quiet/0")
        assert done.returncode == 0, done.stderr
        lines = raw_file.read(tmp_path)
        found = [line for line in lines if isinstance(line, Ours)]
        assert [line.surroundings.round for line in found] == [0] * rounds, "a round compares it twice"
        assert all(line.measured.launches.centres for line in found)
        assert len([line for line in lines if isinstance(line, Session)]) == rounds
    assert max(map(len, done.stdout.splitlines())) <= 80
    refused = study(*told, "--seed", "1")
    assert refused.returncode == 1
    assert "was measured with seed 0" in refused.stderr


@pytest.mark.process
def test_a_peer_measures_a_side() -> None:
    at = condition("criterion", workload="norm_softmax")
    side = measure_side(at, effect=0.05, turns=200, seconds=0.1)
    assert (side.effect, side.turns, side.num) == (0.05, 200, 100)
    assert 0.0 < side.minimum <= side.median
    assert side.median == pytest.approx(statistics.median(side.values), rel=1e-6)


def burners_of(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children() if "bursts.py" in " ".join(child.cmdline())]


@pytest.mark.process
def test_the_neighbour_ends_with_its_block_whatever_happens() -> None:
    here = psutil.Process()

    def interrupted() -> None:
        with bursts("0"):
            raise RuntimeError(f"with {len(burners_of(here))}")

    with pytest.raises(RuntimeError, match=f"with {BURNERS}"):
        interrupted()
    assert burners_of(here) == []


@pytest.mark.process
def test_the_neighbour_ends_with_an_owner_that_is_killed() -> None:
    script = (
        "from benchmarks.verdicts.bursts import bursts\nwith bursts('0'):\n  print(flush=True)\n  input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        burners = burners_of(psutil.Process(owner.pid))
        owner.kill()
    assert len(burners) == BURNERS
    _, alive = psutil.wait_procs(burners, timeout=20)
    assert alive == []


def test_bursts_alternate_and_keep_their_bounds() -> None:
    drawn = [*islice(schedule("a seed"), 50)]
    assert all(first[0] != second[0] for first, second in pairwise(drawn))
    assert all(SHORTEST <= seconds <= LONGEST for _, seconds in drawn)


def test_slots_have_two_cores_each_and_share_none() -> None:
    pairs = pairs_of_cores({900, 901, 902, 903, 904})
    assert pairs == [(900, 901), (902, 903)]
    assert pairs_of_cores({900}) == [(900,)]
    assert {
        core for pair in pairs_of_cores(os.sched_getaffinity(0)) for core in pair
    } <= os.sched_getaffinity(0)
