"""Diagnoses and self-tests on a terminal, compared with what people have read and found good."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.doctor.examine import examine
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.estimate import Estimate, Method
from stepmark.records.machine import BusyProcess, GpuCard, GpuProcess, MachineFacts, QuotaFacts
from stepmark.records.self_test import Comparison, Observations, Quantity, Rate, SelfTest
from stepmark.records.verdict import VerdictKind
from stepmark.report.doctor_table import diagnosis_lines, doctor_table
from stepmark.report.page import Page
from stepmark.report.selftest_table import rate, selftest_table
from stepmark.selftest import Plan, evaluate
from tests.report.golden_files import check_golden
from tests.support.machines import QUIET, SILENT, machine

TROUBLED = machine(
    activity={"load_1m": 7.4, "busy": (BusyProcess(pid=4711, name="train.py", cores=6.2),), "steal": 0.01},
    processor={"governors": ("powersave",), "siblings": ((0, 4), (1, 5)), "max_mhz": None},
    quota=QuotaFacts(cores=0.5, period_seconds=0.1, num_periods=1200, num_throttled=345),
    jitter={"slow": 0.4, "very_slow": 0.12, "num_gaps": 20, "longest_gap": 0.0503, "period": 0.1},
    gpus=(GpuCard(name="NVIDIA H200", slowed_by=("power cap",), processes=(GpuProcess(pid=9, name="x"),)),),
)


def comparison(number: int, *, workload: str, dose: float) -> Comparison:
    """The fifth of them is wrong, whatever it is about."""
    shift = 0.03 if number % 5 == 4 else 0.0
    low, high = 1.0 + dose - 0.004 + shift, 1.0 + dose + 0.004 + shift
    kind = (
        VerdictKind.SLOWER
        if low > 1.01
        else VerdictKind.EQUIVALENT
        if high < 1.01
        else VerdictKind.INCONCLUSIVE
    )
    return Comparison(
        workload=workload,
        dose=dose,
        turns=round(dose * 8000),
        counted=dose * 1.01,
        kind=kind,
        ratio=Estimate(
            point=1.0 + dose + shift,
            low=low,
            high=high,
            confidence=0.95,
            method=Method.T_LAUNCHES,
            num_launches=20,
        ),
        centres=(dose + 0.004, dose - 0.004, dose),
        launch_seconds=(0.4, 0.5, 0.45),
    )


def a_test(*, interrupted: bool = False, num: int = 20) -> SelfTest:
    doses = (0.0, 0.01, 0.0, 0.02, 0.0, 0.05, 0.0, 0.1)
    comparisons = [
        comparison(n, workload=("norm_softmax", "linear")[n % 2], dose=doses[n // 2 % len(doses)])
        for n in range(num)
    ]
    seen = Observations(
        comparisons=tuple(comparisons),
        allocation=Quantity(true=64 * 2.0**20, seen=64.6 * 2**20),
        work=Quantity(true=2.0, seen=1.998),
        waits=(Quantity(true=20e-6, seen=20.2e-6), Quantity(true=200e-6, seen=209e-6)),
    )
    return evaluate(seen, Plan(budget=60.0), seconds=61.0, interrupted=interrupted)


@pytest.mark.parametrize(("name", "facts"), [("quiet", QUIET), ("troubled", TROUBLED), ("silent", SILENT)])
def test_the_doctors_table(name: str, facts: MachineFacts) -> None:
    check_golden(f"doctor_{name}.80.txt", doctor_table(examine(facts)).text())


@pytest.mark.parametrize(
    ("name", "test"),
    [("whole", a_test()), ("stopped", a_test(interrupted=True, num=1)), ("nothing", a_test(num=0))],
)
def test_the_self_tests_table(name: str, test: SelfTest) -> None:
    check_golden(f"selftest_{name}.80.txt", selftest_table(test).text())


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_doctors_table_fits_its_page(width: int) -> None:
    lines = doctor_table(examine(TROUBLED)).text(width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_the_self_tests_table_fits_a_terminal() -> None:
    assert max(map(len, selftest_table(a_test(num=400)).text().splitlines())) <= 80


def test_colours_are_left_out_of_plain_pages_and_arrows_of_ascii_ones() -> None:
    found = Diagnosis(check=Check.LOAD, state=State.NOTICE, seen="a", meaning="b", remedy="c")
    lines = [line.plain for line in diagnosis_lines([found], Page(ascii_only=True))]
    assert lines[-1].strip() == "-> c"
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize(
    ("counted", "text"),
    [
        (Rate(num=0, of=14, low=0.0, high=0.231), "0 of 14 [0, 24]\u00a0%"),
        (Rate(num=3, of=3, low=0.2924, high=1.0), "3 of 3 [29, 100]\u00a0%"),
        (Rate(num=0, of=0, low=0.0, high=1.0), "0 of 0"),
    ],
)
def test_bounds_of_rates_are_rounded_outwards(counted: Rate, text: str) -> None:
    assert rate(counted) == text


def test_a_lost_comparison_is_counted() -> None:
    lost = replace(a_test(), num_invalid=2)
    assert "2 without a ratio" in selftest_table(lost).text()
