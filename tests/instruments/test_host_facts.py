"""Facts of the host and of the bench file's repository."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from stepmark.instruments import host_facts as module
from stepmark.instruments.host_facts import environment, host_facts, load_facts, repository_facts
from stepmark.records.environment import Environment, TorchFacts
from stepmark.version import VERSION

TORCH = TorchFacts(version="2.13.0", build="example", threads=1, interop_threads=1, flags=())


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, whatever the machine's own settings of git are."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init")
    (tmp_path / "bench_it.py").write_text("x = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_clean_repository(repository: Path) -> None:
    facts = repository_facts(repository)
    assert facts is not None
    assert (facts.commit, facts.dirty) == (git(repository, "rev-parse", "HEAD"), False)
    assert len(facts.commit) == 40


def test_the_branch_is_the_one_that_is_checked_out(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"):
        monkeypatch.delenv(variable, raising=False)
    git(repository, "checkout", "-b", "feature/fused")
    facts = repository_facts(repository)
    assert facts is not None
    assert facts.branch == "feature/fused"
    git(repository, "checkout", "--detach")
    facts = repository_facts(repository)
    assert facts is not None
    assert facts.branch is None, "a commit is checked out, and no branch"


@pytest.mark.parametrize(
    ("named", "branch"),
    [
        ({"CI_COMMIT_REF_NAME": "mine"}, "mine"),
        ({"GITHUB_REF_NAME": "main", "GITHUB_HEAD_REF": ""}, "main"),
        ({"GITHUB_REF_NAME": "12/merge", "GITHUB_HEAD_REF": "fused"}, "fused"),
    ],
)
def test_on_ci_a_commit_is_checked_out_and_ci_names_the_branch(
    repository: Path, monkeypatch: pytest.MonkeyPatch, named: dict[str, str], branch: str
) -> None:
    for variable in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in named.items():
        monkeypatch.setenv(variable, value)
    git(repository, "checkout", "--detach")
    facts = repository_facts(repository)
    assert facts is not None
    assert facts.branch == branch


def test_a_folder_of_a_repository_is_in_it(repository: Path) -> None:
    (repository / "benches").mkdir()
    assert repository_facts(repository / "benches") == repository_facts(repository)


@pytest.mark.parametrize("change", ["edited", "untracked", "staged", "odd name"])
def test_a_repository_with_changes_is_dirty(repository: Path, change: str) -> None:
    if change == "odd name":
        git(repository, "config", "core.quotePath", "false")
        (repository / os.fsdecode(b"bench_\xff.py")).write_text("x = 3\n")
    else:
        path = repository / ("new.py" if change != "edited" else "bench_it.py")
        path.write_text("x = 2\n")
    if change == "staged":
        git(repository, "add", ".")
    facts = repository_facts(repository)
    assert facts is not None
    assert facts.dirty


def test_no_repository_no_commit_no_folder_no_git(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    outside = tmp_path.parent / f"{tmp_path.name}_outside"
    outside.mkdir()
    assert repository_facts(outside) is None
    git(outside, "init")
    assert repository_facts(outside) is None, "nothing is committed yet"
    assert repository_facts(outside / "missing") is None
    monkeypatch.setenv("PATH", str(outside))
    assert repository_facts(repository) is None, "git is not installed"


def test_the_host() -> None:
    facts = host_facts()
    assert facts.logical_cores == psutil.cpu_count()
    assert facts.memory_bytes == psutil.virtual_memory().total
    assert facts.cpu_model
    assert facts.python.endswith(sys.version.split()[0])


def test_a_host_that_tells_little(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable() -> None:
        raise OSError("not here")

    monkeypatch.setattr(psutil, "cpu_freq", unreadable)
    monkeypatch.setattr(module, "_read", lambda _: None)
    facts = host_facts()
    assert (facts.frequency_mhz, facts.governor) == (None, None)
    assert facts.cpu_model, "the architecture at least"
    monkeypatch.setattr(psutil, "cpu_freq", lambda: None)
    assert host_facts().frequency_mhz is None


def test_how_busy_the_machine_is() -> None:
    before = time.time()
    facts = load_facts()
    assert before <= facts.time <= time.time()
    assert facts.load_1m is not None
    assert facts.load_1m >= 0.0
    assert facts.available_bytes is not None
    assert 0 < facts.available_bytes <= psutil.virtual_memory().total


def test_the_environment_is_everything_around_the_code(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith(module._TELLING_VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("MY_PASSWORD", "secret")
    found = environment(TORCH, command=["stepmark", "run", "x"], bench=repository / "bench_it.py")
    assert (found.stepmark, found.torch, found.command) == (VERSION, TORCH, ("stepmark", "run", "x"))
    assert found.variables == (("CUDA_VISIBLE_DEVICES", "0"), ("OMP_NUM_THREADS", "1"))
    assert found.repository == repository_facts(repository)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Environment) == found


def test_without_a_bench_file_there_is_no_repository() -> None:
    assert environment(TORCH, command=[], bench=None).repository is None
