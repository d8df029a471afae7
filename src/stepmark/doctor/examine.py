"""The list of checks, and the examination that asks each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stepmark.doctor.company import check_load, check_processes, check_steal
from stepmark.doctor.fences import check_cpuset, check_quota, check_virtualisation
from stepmark.doctor.pace import (
    check_boost,
    check_frequency,
    check_governor,
    check_heat,
    check_power,
    check_siblings,
)
from stepmark.doctor.surroundings import (
    check_clock,
    check_gpu,
    check_huge_pages,
    check_python,
    check_swap,
    check_variables,
)
from stepmark.doctor.unrest import check_jitter
from stepmark.records.diagnosis import Diagnosis, Examination, State
from stepmark.records.machine import MachineFacts

CHECKS: tuple[Callable[[MachineFacts], Diagnosis], ...] = (
    *(check_load, check_processes, check_steal, check_jitter),
    *(check_quota, check_cpuset, check_virtualisation),
    *(check_governor, check_boost, check_frequency, check_siblings, check_heat, check_power),
    *(check_swap, check_huge_pages, check_clock, check_gpu, check_python, check_variables),
)
"""In the order in which they usually matter."""
_ORDER = tuple(State)


def examine(facts: MachineFacts) -> Examination:
    """Every check's answer, the worst first."""
    return Examination(facts=facts, diagnoses=worst_first(check(facts) for check in CHECKS))


def worst_first(diagnoses: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Equals keep their order."""
    return tuple(sorted(diagnoses, key=lambda diagnosis: _ORDER.index(diagnosis.state)))
