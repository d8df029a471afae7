"""The machine's state, read from trees made by hand; every source may be missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments.activity import watch
from stepmark.instruments.clock_state import clock_facts
from stepmark.instruments.cpu_quota import quota_facts
from stepmark.instruments.jitter_probe import SLICE_SECONDS, probe
from stepmark.instruments.machine_state import memory_facts, on_battery
from stepmark.instruments.processor_state import heat_facts, parse_cores, processor_facts, usable_cores
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.instruments.software_state import software_facts
from stepmark.records.machine import BusyProcess, HeatFacts, MemoryFacts, ProcessorFacts, QuotaFacts
from tests.instruments.trees import plant
from tests.support.properties import steady

CPU = "sys/devices/system/cpu"
PERIOD = 100_000


def test_nothing_can_be_read(tmp_path: Path) -> None:
    files = PseudoFiles(tmp_path)
    assert processor_facts(files, None) == ProcessorFacts()
    assert heat_facts(files) == HeatFacts()
    assert quota_facts(files) is None
    assert memory_facts(files) == MemoryFacts()
    assert on_battery(files) is None
    seen = watch(files, sleep=lambda _: None, now=iter((0.0, 1.0)).__next__)
    assert (seen.load_1m, seen.busy, seen.steal, seen.swapped_pages, seen.throttles) == (None,) * 5


def test_nonsense_is_as_good_as_nothing(tmp_path: Path) -> None:
    paths = ("proc/stat", "proc/loadavg", "proc/vmstat", "proc/meminfo", "proc/cpuinfo", "proc/self/cgroup")
    files = plant(tmp_path, dict.fromkeys((*paths, f"{CPU}/online", "proc/7/stat"), "\x00 what? :: -"))
    assert processor_facts(files, None) == ProcessorFacts()
    assert memory_facts(files) == MemoryFacts()
    assert quota_facts(files) is None
    seen = watch(files, sleep=lambda _: None, now=iter((0.0, 1.0)).__next__)
    assert (seen.load_1m, seen.busy, seen.steal) == (None, None, None)


@steady
@given(st.frozensets(st.integers(0, 63), min_size=1))
def test_lists_of_cores_are_read_back(cores: frozenset[int]) -> None:
    assert parse_cores(",".join(map(str, cores))) == cores
    low, high = min(cores), max(cores)
    assert parse_cores(f"{low}-{high}") == frozenset(range(low, high + 1))


def desktop(root: Path) -> PseudoFiles:
    """Four threads on two cores, of which the third is taken from this process."""
    cores = {
        f"{CPU}/cpu{n}/{path}": text
        for n in range(4)
        for path, text in {
            "topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}",
            "cpufreq/scaling_governor": "powersave" if n else "performance",
            "cpufreq/scaling_cur_freq": str(800_000 + n * 1_000_000),
            "cpufreq/cpuinfo_max_freq": "4000000",
            "thermal_throttle/core_throttle_count": str(n),
        }.items()
    }
    return plant(
        root,
        {
            **cores,
            f"{CPU}/online": "0-3",
            f"{CPU}/intel_pstate/no_turbo": "0",
            "proc/cpuinfo": "model name : X\nflags\t\t: fpu sse2 hypervisor avx",
            "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp",
            "sys/class/thermal/thermal_zone0/temp": "71000",
            "sys/class/thermal/thermal_zone0/trip_point_0_type": "passive",
            "sys/class/thermal/thermal_zone0/trip_point_0_temp": "85000",
            "sys/class/thermal/thermal_zone0/trip_point_1_type": "critical",
            "sys/class/thermal/thermal_zone0/trip_point_1_temp": "105000",
            "sys/class/thermal/thermal_zone1/type": "iwlwifi_1",
            "sys/class/thermal/thermal_zone1/temp": "99000",
            "sys/class/hwmon/hwmon0/name": "nvme",
            "sys/class/hwmon/hwmon0/temp1_input": "98000",
            "sys/class/hwmon/hwmon1/name": "coretemp",
            "sys/class/hwmon/hwmon1/temp2_input": "74000",
            "sys/class/hwmon/hwmon1/temp2_crit": "100000",
        },
    )


def test_a_desktop(tmp_path: Path) -> None:
    files = desktop(tmp_path)
    assert processor_facts(files, frozenset({0, 1, 3})) == ProcessorFacts(
        num_cores=4,
        num_usable=3,
        siblings=((1, 3),),
        governors=("performance", "powersave"),
        boost=True,
        mhz=3800.0,
        max_mhz=4000.0,
        hypervisor=True,
    )
    assert heat_facts(files) == HeatFacts(celsius=74.0, critical_celsius=100.0, throttles=6)


def test_a_virtual_machine_without_cpufreq(tmp_path: Path) -> None:
    files = plant(tmp_path, {"proc/cpuinfo": "cpu MHz\t\t: 2793.5\nflags : fpu\n\ncpu MHz\t\t: 2794.0"})
    seen = processor_facts(files, None)
    assert (seen.mhz, seen.max_mhz, seen.hypervisor, seen.boost) == (2794.0, None, False, None)


def test_amd_names_its_boost_otherwise(tmp_path: Path) -> None:
    assert processor_facts(plant(tmp_path, {f"{CPU}/cpufreq/boost": "0"}), None).boost is False


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cgroup.controllers": "cpu"}, QuotaFacts()),
        (
            {
                "proc/self/cgroup": "0::/",
                "sys/fs/cgroup/cgroup.controllers": "cpu memory",
                "sys/fs/cgroup/cpu.max": f"50000 {PERIOD}",
                "sys/fs/cgroup/cpu.stat": "usage_usec 5\nnr_periods 40\nnr_throttled 7",
            },
            QuotaFacts(cores=0.5, period_seconds=0.1, num_periods=40, num_throttled=7),
        ),
        (
            {
                "proc/self/cgroup": "0::/app/worker",
                "sys/fs/cgroup/cgroup.controllers": "cpu",
                "sys/fs/cgroup/app/cpu.max": f"150000 {PERIOD}",
                "sys/fs/cgroup/app/worker/cpu.max": f"max {PERIOD}",
            },
            QuotaFacts(cores=1.5, period_seconds=0.1),
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/\n3:cpu,cpuacct:/docker/abc\n0::/",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "50000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 9\nnr_throttled 0",
            },
            QuotaFacts(cores=4.0, period_seconds=0.05, num_periods=9, num_throttled=0),
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            QuotaFacts(),
        ),
    ],
    ids=["no limit", "version 2", "limit above", "version 1 in a container", "version 1 without a limit"],
)
def test_quotas(tmp_path: Path, texts: dict[str, str], expected: QuotaFacts) -> None:
    assert quota_facts(plant(tmp_path, texts)) == expected


def counters(busy: int, steal: int, swapped: int) -> dict[str, str]:
    behind = "S 1 1 1 0 -1 4194560 0 0 0 0"
    return {
        "proc/loadavg": "1.25 0.5 0.4 1/88 6543",
        "proc/stat": f"cpu  {100 + busy} 0 0 {900 - busy - steal} 0 0 0 {steal} 50 0\ncpu0 1 2 3",
        "proc/vmstat": f"nr_free_pages 1\npswpin {swapped}\npswpout {2 * swapped}",
        f"{CPU}/cpu0/thermal_throttle/core_throttle_count": str(swapped),
        "proc/10/stat": f"10 (a (b) c) {behind} {busy} 5 0",
        "proc/11/stat": f"11 (idle) {behind} 1 1 0",
        "proc/12/stat": f"12 (me) {behind} {busy} 5 0",
    }


def test_activity_is_a_difference(tmp_path: Path) -> None:
    files = plant(tmp_path, counters(0, 0, 0))

    def sleep(_: float) -> None:
        later = {**counters(80, 20, 3), "proc/13/stat": "13 (new) R 1 1 1 0 -1 4194560 0 0 0 0 30 10 0"}
        (tmp_path / "proc/stat").write_text("cpu  180 0 0 900 0 0 0 20 50 0\n")
        plant(tmp_path, {path: text for path, text in later.items() if path != "proc/stat"})

    seen = watch(files, sleep=sleep, now=iter((5.0, 7.0)).__next__, ticks_per_second=100, own=12)
    assert seen.seconds == 2.0
    assert seen.load_1m == 1.25
    assert seen.steal == pytest.approx(20 / 100)
    assert (seen.swapped_pages, seen.throttles) == (9, 3)
    assert seen.busy == (
        BusyProcess(pid=10, name="a (b) c", cores=0.4),
        BusyProcess(pid=13, name="new", cores=0.2),
    )


def test_memory(tmp_path: Path) -> None:
    files = plant(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: 100 kB\nSwapTotal: 2048 kB\nSwapFree:  1024 kB",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        },
    )
    assert memory_facts(files) == MemoryFacts(swap_used_bytes=1 << 20, huge_pages="madvise")


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({}, False),
        ({"AC/type": "Mains", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, True),
        ({"BAT0/type": "Battery", "BAT0/status": "Charging"}, False),
        ({"mouse/type": "Battery", "mouse/scope": "Device", "mouse/status": "Discharging"}, False),
    ],
    ids=["server", "unplugged", "plugged", "mouse"],
)
def test_power(tmp_path: Path, supplies: dict[str, str], expected: bool) -> None:
    (tmp_path / "sys/class/power_supply").mkdir(parents=True)
    files = plant(tmp_path, {f"sys/class/power_supply/{path}": text for path, text in supplies.items()})
    assert on_battery(files) is expected


def test_the_clock_is_tried_out(tmp_path: Path) -> None:
    files = plant(tmp_path, {"sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm"})
    seen = clock_facts(files, read=count(step=700).__next__)
    assert seen.source == "acpi_pm"
    assert (seen.resolution, seen.cost) == pytest.approx((7e-7, 7e-7))


def test_a_clock_that_ticks_rarely_still_has_a_cost(tmp_path: Path) -> None:
    ticks: Iterator[int] = (1000 * (n // 10) for n in count())
    seen = clock_facts(PseudoFiles(tmp_path), read=ticks.__next__)
    assert seen.resolution == pytest.approx(1e-6)
    assert seen.cost == pytest.approx(1e-7, rel=0.01)


class Core:
    """A core on which a turn takes a nanosecond and every so many nanoseconds somebody else runs."""

    def __init__(self, *, every: int = 0, gap: int = 0) -> None:
        self.time, self.every, self.gap = 0, every, gap

    def spin(self, turns: int) -> None:
        crossed = self.every and (self.time % self.every) + turns >= self.every
        self.time += turns + (self.gap if crossed else 0)

    def now(self) -> int:
        return self.time


def test_the_probe_of_a_quiet_core() -> None:
    core = Core()
    seen = probe(seconds=1.0, now=core.now, spin=core.spin)
    assert seen.fastest == pytest.approx(SLICE_SECONDS)
    assert seen.num_slices == 2000
    assert (seen.slow, seen.very_slow, seen.num_gaps, seen.longest_gap, seen.period) == (0, 0, 0, 0, None)


def test_the_probe_under_a_quota() -> None:
    core = Core(every=100_000_000, gap=40_000_000)
    seen = probe(seconds=2.0, now=core.now, spin=core.spin)
    assert seen.num_gaps in range(18, 22)
    assert seen.longest_gap == pytest.approx(0.04, rel=0.01)
    assert seen.period == pytest.approx(0.1, rel=0.02)


def test_the_probe_spins_for_real() -> None:
    seen = probe(seconds=0.02)
    assert seen.num_slices >= 1
    assert seen.fastest > 0.0
    assert seen.seconds >= 0.02


def test_variables_that_change_speed() -> None:
    seen = software_facts({"HOME": "/", "MKL_CBWR": "AVX2", "OMP_NUM_THREADS": "3", "OMP_PLACES": ""})
    assert seen.variables == (("OMP_NUM_THREADS", "3"), ("MKL_CBWR", "AVX2"))


def test_the_cores_of_this_process() -> None:
    assert usable_cores() == frozenset(os.sched_getaffinity(0))
