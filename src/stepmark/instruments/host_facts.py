"""Facts of the host: processor, memory, load, git; read in the runner, without torch."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from stepmark.records.environment import Environment, HostFacts, LoadFacts, RepositoryFacts, TorchFacts
from stepmark.version import VERSION

_TELLING_VARIABLES = ("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "TORCH", "PYTORCH_", "CUDA_", "CUBLAS_")
"""Prefixes of environment variables that change what torch does."""

_BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME")
"""Where GitHub and GitLab name the branch: of a pull request first, because its own ref is a merge."""


def environment(torch: TorchFacts, *, command: Sequence[str], bench: Path | None) -> Environment:
    """Everything around the code that can change a number."""
    return Environment(
        stepmark=VERSION,
        host=host_facts(),
        torch=torch,
        command=tuple(command),
        repository=repository_facts(bench.parent) if bench else None,
        variables=tuple(
            sorted((name, value) for name, value in os.environ.items() if name.startswith(_TELLING_VARIABLES))
        ),
    )


def host_facts() -> HostFacts:
    frequency = _frequency()
    return HostFacts(
        hostname=platform.node(),
        os=platform.platform(),
        cpu_model=_cpu_model(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        frequency_mhz=frequency,
        governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def load_facts() -> LoadFacts:
    """How busy the machine is now."""
    times = psutil.cpu_times()
    return LoadFacts(
        time=time.time(),
        load_1m=os.getloadavg()[0],
        steal_seconds=getattr(times, "steal", None),
        available_bytes=psutil.virtual_memory().available,
    )


def repository_facts(directory: Path) -> RepositoryFacts | None:
    """Commit, dirty flag and branch of the repository around a directory; None outside one or without git."""
    commit = _git(directory, "rev-parse", "HEAD")
    status = _git(directory, "status", "--porcelain")
    if commit is None or status is None:
        return None
    return RepositoryFacts(commit=commit.strip(), dirty=bool(status.strip()), branch=_branch(directory))


def _branch(directory: Path) -> str | None:
    """The branch that is checked out; where only a commit is, as on CI, the one that CI names."""
    name = (_git(directory, "symbolic-ref", "--short", "-q", "HEAD") or "").strip()
    named = (os.environ.get(variable, "") for variable in _BRANCH_VARIABLES)
    return name or next(filter(None, named), None)


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _cpu_model() -> str:
    if sys.platform.startswith("linux"):
        for line in (_read("/proc/cpuinfo") or "").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _frequency() -> float | None:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError):
        return None
    return float(frequency.current) if frequency else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
