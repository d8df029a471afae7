"""The processor time a container is given: control groups, version 1 and 2.

A limit holds for a group and all below it, so the tightest from the process's own group up to the root
counts. In a container without a namespace of its own the group's path does not exist below the mount; the
root does.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.records.machine import QuotaFacts

_ROOT = "sys/fs/cgroup"
_FIRST_MOUNTS = (f"{_ROOT}/cpu", f"{_ROOT}/cpu,cpuacct", f"{_ROOT}/cpuacct,cpu")


def quota_facts(files: PseudoFiles) -> QuotaFacts | None:
    """The tightest limit; without one, QuotaFacts() says so; None where control groups cannot be read."""
    memberships = (files.text("proc/self/cgroup") or "").splitlines()
    limits: list[QuotaFacts] = []
    readable = False
    for membership in memberships:
        _, controllers, path = [*membership.split(":", 2), "", ""][:3]
        for group in _groups(files, controllers, path):
            readable = True
            limit = _second(files, group) if not controllers else _first(files, group)
            limits += [limit] if limit is not None else []
    if not readable:
        return None
    return min(limits, key=lambda limit: limit.cores or 0.0, default=QuotaFacts())


def held_back_seconds(files: PseudoFiles) -> dict[str, float]:
    """By group, from the process's own up to the root: time since its making in which a core had to wait
    because the group's time had run out. Summed over cores, so it may be more than the time that passed."""
    found = {}
    for membership in (files.text("proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*membership.split(":", 2), "", ""][:3]
        for group in _groups(files, controllers, path):
            counts = files.fields(f"{group}/cpu.stat")
            for name, unit in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
                if counts.get(name, "").isdigit():
                    found[group] = int(counts[name]) * unit
    return found


def _groups(files: PseudoFiles, controllers: str, path: str) -> list[str]:
    """Directories of the process's group and those above it, as far as they are there."""
    if not controllers:
        mounts = [m for m in (_ROOT, f"{_ROOT}/unified") if files.exists(f"{m}/cgroup.controllers")]
    elif "cpu" in controllers.split(","):
        mounts = [mount for mount in _FIRST_MOUNTS if files.exists(mount)][:1]
    else:
        mounts = []
    own = PurePosixPath("/") / path
    steps = [str(step).strip("/") for step in (own, *own.parents)]
    folders = [f"{mount}/{step}".rstrip("/") for mount in mounts for step in steps]
    return [folder for folder in folders if files.exists(folder)]


def _second(files: PseudoFiles, group: str) -> QuotaFacts | None:
    """`cpu.max` holds `50000 100000`, or `max 100000`."""
    quota, _, period = (files.text(f"{group}/cpu.max") or "max").partition(" ")
    if not quota.isdigit() or not period.isdigit():
        return None
    return _limit(files, group, int(quota), int(period))


def _first(files: PseudoFiles, group: str) -> QuotaFacts | None:
    quota, period = (files.number(f"{group}/cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota is None or period is None or quota <= 0:
        return None
    return _limit(files, group, quota, period)


def _limit(files: PseudoFiles, group: str, quota: int, period: int) -> QuotaFacts | None:
    if period <= 0:
        return None
    counts = files.fields(f"{group}/cpu.stat")
    periods, throttled = (counts.get(name, "") for name in ("nr_periods", "nr_throttled"))
    return QuotaFacts(
        cores=quota / period,
        period_seconds=period / 1e6,
        num_periods=int(periods) if periods.isdigit() else None,
        num_throttled=int(throttled) if throttled.isdigit() else None,
    )
