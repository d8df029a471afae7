"""The processor's pace, and what changes it: governor, boost, frequency, siblings, heat, power."""

from __future__ import annotations

from stepmark.doctor.text import times
from stepmark.doctor.unknown import unknown
from stepmark.records.diagnosis import Check, Diagnosis, State
from stepmark.records.machine import HeatFacts, MachineFacts

FREQUENCY_NOTICE, FREQUENCY_WARNING = 0.8, 0.5
"""Of the highest; judgement: boost clocks of many busy cores lie below that of one alone."""
NEAR_CRITICAL = 5.0
"""Degrees."""


def check_governor(facts: MachineFacts) -> Diagnosis:
    meaning = "the clock follows the load: short measurements see it on its way up"
    governors = facts.processor.governors
    if governors is None:
        return unknown(Check.GOVERNOR, meaning)
    fixed = governors == ("performance",)
    return Diagnosis(
        check=Check.GOVERNOR,
        state=State.OK if fixed else State.NOTICE,
        seen=", ".join(governors),
        meaning=meaning,
        remedy="" if fixed else "`sudo cpupower frequency-set -g performance`",
    )


def check_boost(facts: MachineFacts) -> Diagnosis:
    meaning = "the clock depends on how many cores work and how warm they are"
    boost = facts.processor.boost
    if boost is None:
        return unknown(Check.BOOST, meaning)
    return Diagnosis(
        check=Check.BOOST,
        state=State.NOTICE if boost else State.OK,
        seen="on" if boost else "off",
        meaning=meaning,
        remedy="for steadier, lower numbers write 0 to cpufreq/boost or 1 to intel_pstate/no_turbo, below "
        "/sys/devices/system/cpu"
        if boost
        else "",
    )


def check_frequency(facts: MachineFacts) -> Diagnosis:
    meaning = "a clock held below its highest has room to change while you measure"
    now, most = facts.processor.mhz, facts.processor.max_mhz
    if now is None or most is None:
        return unknown(Check.FREQUENCY, meaning)
    limits = ((FREQUENCY_WARNING, State.WARNING), (FREQUENCY_NOTICE, State.NOTICE))
    state = next((state for limit, state in limits if now < limit * most), State.OK)
    return Diagnosis(
        check=Check.FREQUENCY,
        state=state,
        seen=f"{now:.0f} of {most:.0f} MHz right after two seconds of work",
        meaning=meaning,
        remedy="" if state is State.OK else "look at governor, power limits and cooling",
    )


def check_siblings(facts: MachineFacts) -> Diagnosis:
    meaning = "two threads of one core share its units: whoever runs on the other slows this one"
    groups = facts.processor.siblings
    if groups is None:
        return unknown(Check.SMT, meaning)
    number = sum(map(len, groups))
    return Diagnosis(
        check=Check.SMT,
        state=State.NOTICE if groups else State.OK,
        seen=f"{number} usable cores are threads of {len(groups)} physical ones"
        if groups
        else "no two usable cores share a physical one",
        meaning=meaning,
        remedy="keep the machine idle, or run on one thread of each core: `taskset -c "
        + ",".join(str(group[0]) for group in groups[:8])
        + (",...`" if len(groups) > 8 else "`")
        if groups
        else "",
    )


def check_heat(facts: MachineFacts) -> Diagnosis:
    meaning = "a processor that is too warm lowers its clock until it has cooled"
    heat = facts.heat
    if heat.celsius is None and heat.throttles is None:
        return unknown(Check.HEAT, meaning)
    near = (
        heat.celsius is not None
        and heat.critical_celsius is not None
        and heat.celsius >= heat.critical_celsius - NEAR_CRITICAL
    )
    state = State.OK
    if facts.activity.throttles or near:
        state = State.WARNING
    elif heat.throttles:
        state = State.NOTICE
    return Diagnosis(
        check=Check.HEAT,
        state=state,
        seen=_warmth(heat, facts.activity.throttles),
        meaning=meaning,
        remedy="" if state is State.OK else "let it cool, clean or speed up its fans, or lower the clock",
    )


def _warmth(heat: HeatFacts, just_now: int | None) -> str:
    parts = []
    if heat.celsius is not None:
        limit = f", critical at {heat.critical_celsius:.0f}" if heat.critical_celsius is not None else ""
        parts.append(f"{heat.celsius:.0f} degrees{limit}")
    if heat.throttles is not None:
        parts.append(
            f"throttled {times(heat.throttles)} since the start" if heat.throttles else "never throttled"
        )
    if just_now:
        parts.append(f"{times(just_now)} just now")
    return "; ".join(parts)


def check_power(facts: MachineFacts) -> Diagnosis:
    meaning = "on battery the machine saves power by its clock"
    battery = facts.on_battery
    if battery is None:
        return unknown(Check.POWER, meaning)
    return Diagnosis(
        check=Check.POWER,
        state=State.WARNING if battery else State.OK,
        seen="on battery" if battery else "on mains",
        meaning=meaning,
        remedy="plug it in" if battery else "",
    )
