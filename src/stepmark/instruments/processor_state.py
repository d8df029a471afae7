"""The processor's state: cores, clock, governor, siblings, temperature; from /proc and /sys."""

from __future__ import annotations

import os

from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.records.machine import HeatFacts, ProcessorFacts

CPU = "sys/devices/system/cpu"
_CORE = f"{CPU}/cpu[0-9]*"
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_CPU_ZONES = ("x86_pkg_temp", "cpu", "soc", "coretemp")
"""Types of thermal zones begin so; others belong to disks, batteries and radios."""


def usable_cores() -> frozenset[int] | None:
    """Numbers of the cores this process may run on."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def processor_facts(files: PseudoFiles, usable: frozenset[int] | None) -> ProcessorFacts:
    online = parse_cores(files.text(f"{CPU}/online"))
    governors = files.texts(f"{_CORE}/cpufreq/scaling_governor")
    most = files.numbers(f"{_CORE}/cpufreq/cpuinfo_max_freq")
    return ProcessorFacts(
        num_cores=len(online) if online else None,
        num_usable=len(usable) if usable else None,
        siblings=_siblings(files, usable if usable else online),
        governors=tuple(sorted(set(governors))) if governors else None,
        boost=_boost(files),
        mhz=megahertz(files),
        max_mhz=max(most) / 1000.0 if most else None,
        hypervisor=_hypervisor(files),
    )


def heat_facts(files: PseudoFiles) -> HeatFacts:
    now, critical = [], []
    for zone in files.paths("sys/class/thermal/thermal_zone[0-9]*"):
        if (files.text(f"{zone}/type") or "").startswith(_CPU_ZONES):
            now += files.numbers(f"{zone}/temp")
            critical += _critical_trips(files, zone)
    for sensor in files.paths("sys/class/hwmon/hwmon[0-9]*"):
        if files.text(f"{sensor}/name") in _CPU_SENSORS:
            now += files.numbers(f"{sensor}/temp*_input")
            critical += files.numbers(f"{sensor}/temp*_crit")
    return HeatFacts(
        celsius=max(now) / 1000.0 if now else None,
        critical_celsius=min(critical) / 1000.0 if critical else None,
        throttles=throttles(files),
    )


def throttles(files: PseudoFiles) -> int | None:
    """Times that heat slowed a core since the machine started, summed over cores."""
    counts = files.numbers(f"{_CORE}/thermal_throttle/core_throttle_count")
    return sum(counts) if counts else None


def parse_cores(text: str | None) -> frozenset[int]:
    """`0-3,8` as numbers; nothing of what cannot be read."""
    cores: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (last or first).isdigit():
            cores.update(range(int(first), int(last or first) + 1))
    return frozenset(cores)


def _siblings(files: PseudoFiles, usable: frozenset[int] | None) -> tuple[tuple[int, ...], ...] | None:
    lists = files.texts(f"{_CORE}/topology/thread_siblings_list")
    if not lists:
        return None
    groups = {parse_cores(text) & (usable or parse_cores(text)) for text in lists}
    return tuple(sorted(tuple(sorted(group)) for group in groups if len(group) > 1))


def _boost(files: PseudoFiles) -> bool | None:
    boost = files.number(f"{CPU}/cpufreq/boost")
    no_turbo = files.number(f"{CPU}/intel_pstate/no_turbo")
    if boost is None and no_turbo is None:
        return None
    return bool(boost) if boost is not None else not no_turbo


def megahertz(files: PseudoFiles) -> float | None:
    """Of the fastest core."""
    now = files.numbers(f"{_CORE}/cpufreq/scaling_cur_freq")
    if now:
        return max(now) / 1000.0
    lines = (files.text("proc/cpuinfo") or "").splitlines()
    shown = [line.partition(":")[2].strip() for line in lines if line.startswith("cpu MHz")]
    return max((float(text) for text in shown if text.replace(".", "", 1).isdigit()), default=None)


def _hypervisor(files: PseudoFiles) -> bool | None:
    """The flag by which an x86 processor tells its guest; other processors do not say."""
    lines = (files.text("proc/cpuinfo") or "").splitlines()
    flags = next((line for line in lines if line.startswith("flags")), None)
    return None if flags is None else "hypervisor" in flags.split()


def _critical_trips(files: PseudoFiles, zone: str) -> list[int]:
    kinds = files.paths(f"{zone}/trip_point_*_type")
    critical = [kind for kind in kinds if files.text(kind) == "critical"]
    limits = (files.number(kind.removesuffix("_type") + "_temp") for kind in critical)
    return [limit for limit in limits if limit is not None and limit > 0]
