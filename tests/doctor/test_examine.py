"""The checks: each at its thresholds, each silent where nothing can be read, the worst first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.doctor.examine import CHECKS, examine
from stepmark.records.card import CardFacts
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.machine import BusyProcess, GpuCard, GpuProcess, QuotaFacts
from tests.support.machines import QUIET, SILENT, machine
from tests.support.properties import steady

SELF_TEST = {
    Check.FALSE_ALARMS,
    Check.COVERAGE,
    Check.DETECTION,
    Check.ALLOCATION,
    Check.WORK,
    Check.TIMER,
}
TRIED_OUT = {Check.JITTER, Check.CLOCK, Check.PYTHON, Check.VARIABLES}
"""Known on every machine."""
OK, NOTICE, WARNING = State.OK, State.NOTICE, State.WARNING


def diagnosis(check: Check, **parts: Any) -> Diagnosis:
    return next(one for one in examine(machine(**parts)).diagnoses if one.check is check)


def test_every_check_answers_once() -> None:
    checks = [one.check for one in examine(QUIET).diagnoses]
    assert len(checks) == len(CHECKS)
    assert set(checks) == set(Check) - SELF_TEST


def test_a_quiet_machine_is_fine() -> None:
    assert {one.state for one in examine(QUIET).diagnoses} == {OK}
    assert not any(one.remedy for one in examine(QUIET).diagnoses)


def test_what_cannot_be_read_is_unknown() -> None:
    unknown = {one.check for one in examine(SILENT).diagnoses if one.state is State.UNKNOWN}
    assert unknown == set(Check) - SELF_TEST - TRIED_OUT


@pytest.mark.parametrize(
    ("check", "parts", "state", "seen"),
    [
        (Check.LOAD, {"activity": {"load_1m": 7.5}}, WARNING, "7.50"),
        (Check.LOAD, {"activity": {"load_1m": 3.0}}, NOTICE, "8 cores"),
        (Check.STEAL, {"activity": {"steal": 0.03}}, WARNING, "3 %"),
        (Check.STEAL, {"activity": {"steal": 0.006}}, NOTICE, "0.6 %"),
        (Check.JITTER, {"jitter": {"very_slow": 0.06, "slow": 0.2}}, WARNING, "6 %"),
        (Check.JITTER, {"jitter": {"slow": 0.2}}, NOTICE, "20 %"),
        (Check.JITTER, {"jitter": {"num_gaps": 1, "longest_gap": 0.02}}, NOTICE, "once, for up to 20 ms"),
        (Check.JITTER, {"jitter": {"num_gaps": 1, "longest_gap": 0.002}}, OK, "2 ms"),
        (Check.GOVERNOR, {"processor": {"governors": ("performance", "powersave")}}, NOTICE, "powersave"),
        (Check.BOOST, {"processor": {"boost": True}}, NOTICE, "on"),
        (Check.FREQUENCY, {"processor": {"mhz": 2000.0}}, NOTICE, "2000 of 3000 MHz"),
        (Check.FREQUENCY, {"processor": {"mhz": 1000.0}}, WARNING, "1000"),
        (Check.SMT, {"processor": {"siblings": ((0, 4), (1, 5))}}, NOTICE, "4 usable cores"),
        (Check.HEAT, {"heat": {"celsius": 96.0}}, WARNING, "96 degrees, critical at 100"),
        (Check.HEAT, {"heat": {"throttles": 3}}, NOTICE, "3 times"),
        (Check.HEAT, {"activity": {"throttles": 1}}, WARNING, "once just now"),
        (Check.POWER, {"on_battery": True}, WARNING, "battery"),
        (Check.CPUSET, {"processor": {"num_usable": 2}}, NOTICE, "2 of 8 cores"),
        (Check.VIRTUALISATION, {"processor": {"hypervisor": True}}, NOTICE, "virtual"),
        (Check.SWAP, {"memory": {"swap_used_bytes": 5 << 20}}, NOTICE, "5 MiB"),
        (Check.SWAP, {"activity": {"swapped_pages": 12}}, WARNING, "12 pages"),
        (Check.HUGE_PAGES, {"memory": {"huge_pages": "always"}}, NOTICE, "always"),
        (Check.CLOCK, {"clock": {"source": "hpet"}}, WARNING, "hpet"),
        (Check.CLOCK, {"clock": {"cost": 2e-6}}, WARNING, "2 µs"),
        (Check.PYTHON, {"software": {"debug_python": True}}, WARNING, "debug"),
        (Check.VARIABLES, {"software": {"variables": (("OMP_NUM_THREADS", "3"),)}}, NOTICE, "THREADS=3"),
        (Check.VARIABLES, {"software": {"variables": (("CUDA_LAUNCH_BLOCKING", "1"),)}}, WARNING, "=1"),
        (Check.VARIABLES, {"software": {"variables": (("CUDA_LAUNCH_BLOCKING", "0"),)}}, NOTICE, "=0"),
    ],
)
def test_a_disturbance_is_named_with_its_number(
    check: Check, parts: dict[str, Any], state: State, seen: str
) -> None:
    found = diagnosis(check, **parts)
    assert found.state is state
    assert seen in found.seen
    assert bool(found.remedy) == (state is not OK)
    assert found.meaning


def test_busy_processes_are_named() -> None:
    busy = tuple(BusyProcess(pid=n, name=f"job{n}", cores=1.9 - n / 10) for n in range(5))
    found = diagnosis(Check.PROCESSES, activity={"busy": busy})
    assert found.state is WARNING
    assert "8.5 cores" in found.seen
    assert "job0 (0) 1.90" in found.seen
    assert "and 2 more" in found.seen
    assert diagnosis(Check.PROCESSES, activity={"busy": busy[:2]}).state is NOTICE


@pytest.mark.parametrize(
    ("quota", "state", "seen"),
    [
        (QuotaFacts(cores=0.5, period_seconds=0.1), WARNING, "50 ms of processor time in every 100 ms"),
        (QuotaFacts(cores=4.0, period_seconds=0.1), NOTICE, "400 ms"),
        (
            QuotaFacts(cores=4.0, period_seconds=0.1, num_periods=90, num_throttled=3),
            WARNING,
            "ran out in 3 of 90 periods",
        ),
        (QuotaFacts(cores=8.0, period_seconds=0.1), OK, "800 ms"),
    ],
)
def test_quotas_slice_time(quota: QuotaFacts, state: State, seen: str) -> None:
    found = diagnosis(Check.QUOTA, quota=quota)
    assert found.state is state
    assert seen in found.seen


def test_periodic_gaps_are_blamed_on_a_quota_of_that_period() -> None:
    jitter = {"num_gaps": 20, "longest_gap": 0.04, "period": 0.101}
    quota = QuotaFacts(cores=0.6, period_seconds=0.1)
    blamed = diagnosis(Check.JITTER, jitter=jitter, quota=quota)
    assert "every 101 ms" in blamed.seen
    assert "quota's own period" in blamed.meaning
    assert blamed.state is WARNING
    assert "takes turns" in diagnosis(Check.JITTER, jitter=jitter).meaning


def test_company_and_limits_on_a_gpu() -> None:
    quiet = GpuCard(name="H200", mhz=1980.0, max_mhz=1980.0, celsius=40.0, slowed_by=(), processes=())
    assert diagnosis(Check.GPU, gpus=(quiet,)).state is OK
    assert "nobody else" in diagnosis(Check.GPU, gpus=(quiet,)).seen
    shared = GpuCard(name="L4", slowed_by=("power cap",), processes=(GpuProcess(pid=7, name="train"),))
    found = diagnosis(Check.GPU, gpus=(quiet, shared))
    assert found.state is WARNING
    assert "train (7)" in found.seen
    assert "power cap" in found.seen
    assert "H200" not in found.seen


def test_a_card_is_shown_with_its_facts() -> None:
    facts = CardFacts(
        name="H200",
        uuid="GPU-1",
        driver="580.1",
        memory_bytes=140 << 30,
        ecc=True,
        power_limit_watts=700.0,
        max_megahertz=1980.0,
    )
    card = GpuCard(name="H200", mhz=1830.0, max_mhz=1980.0, memory_mhz=3201.0, watts=412.5, facts=facts)
    assert diagnosis(Check.GPU, gpus=(card,)).seen == (
        "H200, 1830 of 1980 MHz, memory 3201 MHz, 412 of 700 W, 140 GiB, ECC on, driver 580.1, GPU-1"
    )


@steady
@given(
    st.builds(
        machine,
        activity=st.fixed_dictionaries({"load_1m": st.floats(0, 20), "steal": st.floats(0, 1)}),
        jitter=st.fixed_dictionaries({"slow": st.floats(0, 1), "very_slow": st.floats(0, 1)}),
        on_battery=st.sampled_from([True, False, None]),
    )
)
def test_the_worst_stand_first(facts: Any) -> None:
    order = list(State)
    places = [order.index(one.state) for one in examine(facts).diagnoses]
    assert places == sorted(places)


@steady
@given(st.floats(0, 20), st.floats(0, 20))
def test_more_load_is_never_better(load: float, more: float) -> None:
    order = list(State)
    low, high = (diagnosis(Check.LOAD, activity={"load_1m": value}).state for value in (load, load + more))
    assert order.index(high) <= order.index(low)
