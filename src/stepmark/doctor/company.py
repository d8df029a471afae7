"""Who else uses the processor: load, other processes, stolen time."""

from __future__ import annotations

from stepmark.doctor.text import cores, listed, share
from stepmark.doctor.unknown import unknown
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.machine import MachineFacts

LEAST_FREE = 1.0
"""Cores: with less, a measurement of one thread shares its core with someone."""
QUIET_LOAD = 0.25
"""Per core: a load that comes from short wake-ups."""
QUIET_PROCESSES = 0.2
"""Cores of all other processes together."""
STEAL_NOTICE, STEAL_WARNING = 0.005, 0.02
"""A launch of 0.3 s that loses 2 % of its time lost 6 ms: more than any pair of blocks shares."""


def check_load(facts: MachineFacts) -> Diagnosis:
    meaning = "who waits for a core is measured waiting, and waits more in one round than in the next"
    load, usable = facts.activity.load_1m, facts.processor.num_usable
    if load is None or usable is None:
        return unknown(Check.LOAD, meaning)
    state = State.OK
    if usable - load < LEAST_FREE:
        state = State.WARNING
    elif load > QUIET_LOAD * usable:
        state = State.NOTICE
    return Diagnosis(
        check=Check.LOAD,
        state=state,
        seen=f"load {load:.2f} over the last minute, {cores(usable)} to run on",
        meaning=meaning,
        remedy=""
        if state is State.OK
        else "stop other work, or wait until it is done; `uptime` shows the load",
    )


def check_processes(facts: MachineFacts) -> Diagnosis:
    meaning = "other processes take the core, its caches and its boost clock away for moments"
    busy, usable = facts.activity.busy, facts.processor.num_usable
    if busy is None:
        return unknown(Check.PROCESSES, meaning)
    used = sum(process.cores for process in busy)
    state = State.OK
    if usable is not None and usable - used < LEAST_FREE:
        state = State.WARNING
    elif used > QUIET_PROCESSES:
        state = State.NOTICE
    names = listed([f"{process.name} ({process.pid}) {process.cores:.2f}" for process in busy])
    return Diagnosis(
        check=Check.PROCESSES,
        state=state,
        seen=f"others used {cores(used)} just now: {names}" if busy else "nobody else uses a core just now",
        meaning=meaning,
        remedy="" if state is State.OK else "end them, or measure when they rest",
    )


def check_steal(facts: MachineFacts) -> Diagnosis:
    meaning = "the host runs other guests on this machine's cores, and the guest's clock goes on meanwhile"
    steal = facts.activity.steal
    if steal is None:
        return unknown(Check.STEAL, meaning)
    limits = ((STEAL_WARNING, State.WARNING), (STEAL_NOTICE, State.NOTICE))
    state = next((state for limit, state in limits if steal >= limit), State.OK)
    return Diagnosis(
        check=Check.STEAL,
        state=state,
        seen=f"{share(steal)} of processor time went to other guests",
        meaning=meaning,
        remedy="" if state is State.OK else "use a machine with cores of its own, or more launches",
    )
