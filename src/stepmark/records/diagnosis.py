"""Diagnoses: what the doctor says about one property of the machine, from a closed list."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.machine import MachineFacts
from stepmark.records.record import Record


class State(StrEnum):
    """From bad to good."""

    WARNING = "warning"
    """Expect wrong or wide numbers until it is mended."""
    NOTICE = "notice"
    """It adds noise; interleaving and launches cope with it."""
    UNKNOWN = "unknown"
    """It cannot be read here."""
    OK = "ok"


class Check(StrEnum):
    """The closed list; docs/doctor.md explains each."""

    LOAD = "load"
    PROCESSES = "processes"
    STEAL = "steal"
    JITTER = "jitter"
    QUOTA = "quota"
    CPUSET = "cpuset"
    VIRTUALISATION = "virtualisation"
    GOVERNOR = "governor"
    BOOST = "boost"
    FREQUENCY = "frequency"
    SMT = "smt"
    HEAT = "heat"
    POWER = "power"
    SWAP = "swap"
    HUGE_PAGES = "huge-pages"
    CLOCK = "clock"
    GPU = "gpu"
    PYTHON = "python"
    VARIABLES = "variables"
    FALSE_ALARMS = "false-alarms"
    COVERAGE = "coverage"
    DETECTION = "detection"
    ALLOCATION = "allocation"
    WORK = "work"
    TIMER = "timer"


class Diagnosis(Record, frozen=True, kw_only=True):
    """One check's answer."""

    check: Check
    state: State
    seen: str
    """What was read or measured, with its numbers."""
    meaning: str
    """What it does to a measurement."""
    remedy: str = ""
    """What to do about it; empty where nothing needs doing."""


class Examination(Record, frozen=True, kw_only=True):
    """What the doctor saw, and what it makes of it."""

    facts: MachineFacts
    diagnoses: tuple[Diagnosis, ...]
    """The worst first."""
