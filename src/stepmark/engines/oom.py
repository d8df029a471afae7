"""The kernel's count of processes killed for memory: it tells an OOM kill from any other SIGKILL."""

from __future__ import annotations

from pathlib import Path


def oom_kills() -> int:
    """Kills counted by the kernel and by this process's control group, summed; only differences matter."""
    counters = [(Path("/proc/vmstat"), "oom_kill"), *_group_files()]
    return sum(_counter(path, key) for path, key in counters)


def _group_files() -> list[tuple[Path, str]]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            files.append((Path(f"/sys/fs/cgroup{group}/memory.events"), "oom_kill"))
        elif "memory" in controllers.split(","):
            files.append((Path(f"/sys/fs/cgroup/memory{group}/memory.oom_control"), "oom_kill"))
    return files


def _counter(path: Path, key: str) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.split()[0] == key)
