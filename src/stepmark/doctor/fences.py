"""Fences around this process: quota of processor time, set of cores, virtual machine."""

from __future__ import annotations

from stepmark.doctor.text import cores, span
from stepmark.doctor.unknown import unknown
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.machine import MachineFacts

TIGHT = 2.0
"""Cores: a measurement of one thread and its runner need up to two."""


def check_quota(facts: MachineFacts) -> Diagnosis:
    meaning = "when a period's time is used up, every process of the container stands still until the next"
    quota = facts.quota
    if quota is None:
        return unknown(Check.QUOTA, meaning)
    if quota.cores is None or quota.period_seconds is None:
        return Diagnosis(check=Check.QUOTA, state=State.OK, seen="no quota", meaning=meaning)
    usable = facts.processor.num_usable
    seen = (
        f"{span(quota.cores * quota.period_seconds)} of processor time in every {span(quota.period_seconds)}"
    )
    if quota.num_throttled:
        of = f" of {quota.num_periods}" if quota.num_periods else ""
        seen += f"; ran out in {quota.num_throttled}{of} periods"
    free = usable is not None and quota.cores >= usable
    tight = quota.cores < TIGHT or bool(quota.num_throttled)
    state = State.OK if free and not quota.num_throttled else State.WARNING if tight else State.NOTICE
    return Diagnosis(
        check=Check.QUOTA,
        state=state,
        seen=seen,
        meaning=meaning,
        remedy=""
        if state is State.OK
        else f"run without a quota (it allows {cores(quota.cores)}); a set of cores (`--cpuset-cpus`) is a "
        "fence as well and does not slice time",
    )


def check_cpuset(facts: MachineFacts) -> Diagnosis:
    meaning = "torch may see more cores than it can use, and start more threads than can run"
    usable, total = facts.processor.num_usable, facts.processor.num_cores
    if usable is None or total is None:
        return unknown(Check.CPUSET, meaning)
    whole = usable >= total
    return Diagnosis(
        check=Check.CPUSET,
        state=State.OK if whole else State.NOTICE,
        seen=f"all {cores(total)}" if whole else f"{usable} of {cores(total)}",
        meaning=meaning,
        remedy="" if whole else f"ask for at most --threads {usable}",
    )


def check_virtualisation(facts: MachineFacts) -> Diagnosis:
    meaning = "a virtual machine shares cores, caches and memory with guests it cannot see"
    guest = facts.processor.hypervisor
    if guest is None:
        return unknown(Check.VIRTUALISATION, meaning)
    return Diagnosis(
        check=Check.VIRTUALISATION,
        state=State.NOTICE if guest else State.OK,
        seen="virtual machine" if guest else "no hypervisor",
        meaning=meaning,
        remedy="compare inside one run only: levels of other hours are those of other neighbours"
        if guest
        else "",
    )
