"""Promises that a self-test can break: a rate breaks one only where its whole interval does."""

from __future__ import annotations

from stepmark.doctor.text import share, signed_share, span
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.self_test import Detection, Quantity, Rate, SelfTest

PLAIN_SLOWDOWN = 0.05
"""A slowdown this large, well beyond a margin of 1 %, ought to be found in a few seconds."""
OFTEN = 0.8
ALLOCATION_ERROR = 0.05
"""The kernel counts resident pages in batches, and huge pages are whole or not at all."""
WORK_ERROR = 0.02
TIMER_ERROR = 0.02
"""A wait ends up to one reading of the clock late: some tenths of a per cent of 20 µs."""


def check_promises(test: SelfTest) -> tuple[Diagnosis, ...]:
    """In the order of the report."""
    return (_alarms(test), _coverage(test), _detection(test), _allocation(test), _work(test), _timer(test))


def _alarms(test: SelfTest) -> Diagnosis:
    alpha = 1.0 - test.confidence
    meaning = "identical code called FASTER or SLOWER is a false alarm"
    if not test.identical:
        return unmeasured(Check.FALSE_ALARMS, meaning)
    alarms = test.identical[-1].alarms
    state = State.WARNING if alarms.low > alpha else State.OK
    return Diagnosis(
        check=Check.FALSE_ALARMS,
        state=state,
        seen=f"{of(alarms)} false alarms, {share(alpha)} are allowed",
        meaning=meaning,
        remedy=""
        if state is State.OK
        else "trust no small difference here; see what `stepmark doctor` finds",
    )


def _coverage(test: SelfTest) -> Diagnosis:
    meaning = "an interval that misses the truth too often is too narrow for this machine"
    if not test.identical:
        return unmeasured(Check.COVERAGE, meaning)
    covers = test.identical[-1].covers
    state = State.WARNING if covers.high < test.confidence else State.OK
    return Diagnosis(
        check=Check.COVERAGE,
        state=state,
        seen=f"{of(covers)} intervals cover 1, at least {share(test.confidence)} should",
        meaning=meaning,
        remedy="" if state is State.OK else "use a larger --margin, and see what `stepmark doctor` finds",
    )


def _detection(test: SelfTest) -> Diagnosis:
    meaning = f"a slowdown of {share(PLAIN_SLOWDOWN)} should be called SLOWER in most comparisons"
    plain = [one for one in test.detections if one.dose >= PLAIN_SLOWDOWN]
    if not plain:
        return unmeasured(Check.DETECTION, meaning)
    worst: Detection = min(plain, key=lambda one: one.called.high)
    state = State.NOTICE if worst.called.high < OFTEN else State.OK
    found, tried = (sum(getattr(one.called, name) for one in plain) for name in ("num", "of"))
    return Diagnosis(
        check=Check.DETECTION,
        state=state,
        seen=f"{found} of {tried} slowdowns of {share(PLAIN_SLOWDOWN)} and more called SLOWER",
        meaning=meaning,
        remedy="" if state is State.OK else "give comparisons more time: --preset full, or a longer --budget",
    )


def _allocation(test: SelfTest) -> Diagnosis:
    meaning = "memory figures come from the operating system's count of a process's pages"
    size = test.observations.allocation
    if size is None:
        return unmeasured(Check.ALLOCATION, meaning)
    return _known(
        Check.ALLOCATION,
        [size],
        ALLOCATION_ERROR,
        seen=f"{size.seen / 2**20:.1f} MiB seen of {size.true / 2**20:.0f} allocated",
        meaning=meaning,
        remedy="read memory figures with that error in mind",
    )


def _work(test: SelfTest) -> Diagnosis:
    meaning = "twice the work must take twice the time"
    size = test.observations.work
    if size is None:
        return unmeasured(Check.WORK, meaning)
    return _known(
        Check.WORK,
        [size],
        WORK_ERROR,
        seen=f"{size.seen:.3f} times the time for {size.true:.0f} times the work",
        meaning=meaning,
        remedy="the machine changed its speed meanwhile: see what `stepmark doctor` finds",
    )


def _timer(test: SelfTest) -> Diagnosis:
    meaning = "what the sampling loop adds to a time of known length"
    waits = test.observations.waits
    if not waits:
        return unmeasured(Check.TIMER, meaning)
    return _known(
        Check.TIMER,
        waits,
        TIMER_ERROR,
        seen=", ".join(f"{signed_share(wait.error)} at {span(wait.true)}" for wait in waits),
        meaning=meaning,
        remedy="a slow clock, or a core that is taken away: see `stepmark doctor`",
    )


def _known(
    check: Check,
    sizes: list[Quantity] | tuple[Quantity, ...],
    limit: float,
    *,
    seen: str,
    meaning: str,
    remedy: str,
) -> Diagnosis:
    wrong = any(abs(size.error) > limit and not size.admits_truth for size in sizes)
    return Diagnosis(
        check=check,
        state=State.WARNING if wrong else State.OK,
        seen=seen,
        meaning=meaning,
        remedy=remedy if wrong else "",
    )


def unmeasured(check: Check, meaning: str) -> Diagnosis:
    """The budget, or the user, ended the test before it came to this."""
    return Diagnosis(check=check, state=State.UNKNOWN, seen="not measured", meaning=meaning)


def of(rate: Rate) -> str:
    return f"{rate.num} of {rate.of}"
