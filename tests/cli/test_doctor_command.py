"""The doctor as users meet it: the real command on this machine, with as little measuring as there can be."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from stepmark.records.diagnosis import State
from tests.support.commands import CommandLine
from tests.support.commands_here import CommandsHere


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path, extra={"OMP_PLACES": "cores"})


def test_the_examination(stepmark: CommandLine) -> None:
    done = stepmark("doctor")
    assert done.returncode == 0, done.stderr
    assert "OMP_PLACES=cores" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "watching the machine" in done.stderr
    assert not stepmark.store.exists()


@pytest.mark.parametrize("strict", [False, True])
def test_the_examination_as_json(stepmark: CommandLine, strict: bool) -> None:
    done = stepmark("doctor", "--format", "json", "--quiet", *(["--strict"] if strict else []))
    examination = json.loads(done.stdout)
    states = [diagnosis["state"] for diagnosis in examination["diagnoses"]]
    assert done.returncode == int(strict and State.WARNING in states), done.stderr
    assert states == sorted(states, key=list(State).index)
    assert examination["facts"]["jitter"]["num_slices"] > 0
    assert done.stderr == ""


def test_strict_fails_on_a_warning(tmp_path: Path) -> None:
    troubled = CommandLine(home=tmp_path, extra={"CUDA_LAUNCH_BLOCKING": "1"})
    done = troubled("doctor", "--strict", "--quiet")
    assert done.returncode == 1
    assert "unset CUDA_LAUNCH_BLOCKING" in done.stdout


def test_a_budget_that_is_none(stepmark: CommandLine) -> None:
    done = stepmark("doctor", "--selftest", "--budget", "soon")
    assert done.returncode == 2
    assert "'soon' is not a duration" in done.stderr


@pytest.mark.process
def test_the_self_test(stepmark: CommandLine) -> None:
    done = stepmark("doctor", "--selftest", "--budget", "8s", "--format", "json", "--quiet")
    assert done.returncode == 0, done.stderr
    test = json.loads(done.stdout)
    seen = test["observations"]
    assert seen["allocation"]["true"] == 64 * 2**20
    assert seen["allocation"]["seen"] > 0.5 * seen["allocation"]["true"]
    # How far the budget reaches beyond that is a matter of how busy the machine is.
    assert seen["work"] is None or seen["work"]["seen"] > 1.0
    assert all(wait["seen"] >= wait["true"] for wait in seen["waits"])
    assert {diagnosis["check"] for diagnosis in test["diagnoses"]} == {
        *("false-alarms", "coverage", "detection", "allocation", "work", "timer")
    }
    assert not test["interrupted"]
    assert not stepmark.leftovers()
    assert not stepmark.store.exists()


@pytest.mark.process
@pytest.mark.beside
def test_ceilings_are_measured_and_kept(stepmark: CommandLine, here: CommandsHere) -> None:
    first = json.loads(here("doctor", "--ceilings", "--format", "json", "--quiet").stdout)
    assert (first["device"], first["threads"]) == ("cpu", 1)
    second = stepmark("doctor", "--ceilings")
    assert second.returncode == 0, second.stderr
    assert "best of 2 measurements" in second.stdout
    assert "float32 product" in second.stdout
    assert "measuring the ceilings" in second.stderr


@pytest.mark.process
@pytest.mark.beside
def test_a_device_without_ceilings(here: CommandsHere) -> None:
    done = here("doctor", "--ceilings", "--device", "cuda:63", "--quiet")
    assert done.returncode == 2
    assert "nothing can be measured on 'cuda:63'" in done.stderr


@pytest.mark.process
@pytest.mark.beside
def test_ctrl_c_prints_what_is_known(stepmark: CommandLine) -> None:
    process = stepmark.start("doctor", "--selftest", "--budget", "2m")
    assert process.stderr is not None
    stages = ""
    while "known allocation" not in stages:
        stages += process.stderr.readline()
    while (line := process.stderr.readline()) and "known allocation" in line:
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in out
    assert "64 MiB" in out
    assert "Traceback" not in err
    assert not stepmark.leftovers()
