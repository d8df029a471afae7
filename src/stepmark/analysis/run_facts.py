"""Facts of a run that can change its numbers, by aspect; two runs differ where these do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from stepmark.records.card import CardFacts
from stepmark.records.comparison import MUST_AGREE, Aspect, Difference, Standing
from stepmark.records.run import Run
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, ExpressionSource, FileSource, PickledSource

Fact = tuple[Aspect, str]
"""The aspect, and what of it."""
Facts = dict[Fact, str]

ABSENT = "not set"
_SAMPLING = ("round_seconds", "min_rounds", "max_rounds", "block_seconds", "warmup_seconds", "warmup_cap")
"""Settings that change what a launch is; how many launches there are does not change their level."""
_SAID_ELSEWHERE = {"num_threads"}
"""Flags that are an aspect of their own."""


def run_facts(run: Run) -> Facts:
    """Everything about a run as a whole that can change a number, as text."""
    environment = run.environment
    host, torch = environment.host, environment.torch
    facts: Facts = {
        (Aspect.MACHINE, "host"): host.hostname,
        (Aspect.PROCESSOR, "processor"): host.cpu_model,
        (Aspect.PROCESSOR, "logical cores"): str(host.logical_cores),
        (Aspect.THREADS, "threads"): str(run.settings.threads or torch.threads),
        (Aspect.THREADS, "interop threads"): str(torch.interop_threads),
        (Aspect.SYSTEM, "operating system"): host.os,
        (Aspect.SYSTEM, "governor"): host.governor or "not known",
        (Aspect.TORCH, "torch"): torch.version,
        (Aspect.TORCH, "torch build"): _digest(torch.build.encode()),
        (Aspect.PYTHON, "Python"): host.python,
        (Aspect.STEPMARK, "stepmark"): environment.stepmark,
    }
    if any(case.cell.device != "cpu" for case in run.cases):
        facts[Aspect.DEVICE, "accelerators"] = ", ".join(torch.devices)
        facts |= _card_facts(torch.cards)
    for name, value in torch.flags:
        if name not in _SAID_ELSEWHERE:
            facts[Aspect.FLAGS, name] = value
    for name, value in environment.variables:
        facts[Aspect.VARIABLES, name] = value
    return facts | _setting_facts(run.settings) | _code_facts(run)


def _card_facts(cards: Iterable[CardFacts]) -> Facts:
    """Of the first card: cards of one machine share driver and settings."""
    card = next(iter(cards), None)
    if card is None:
        return {}
    known = {
        "driver": card.driver,
        "ECC": None if card.ecc is None else "on" if card.ecc else "off",
        "power limit": None if card.power_limit_watts is None else f"{card.power_limit_watts:.0f} W",
    }
    return {(Aspect.SYSTEM, name): value for name, value in known.items() if value is not None}


def differences(
    baseline: Mapping[Fact, str], candidate: Mapping[Fact, str], *, allow: tuple[Aspect, ...]
) -> tuple[Difference, ...]:
    """What is not the same, in the order of the closed list."""
    order = list(Aspect)
    names = sorted({*baseline, *candidate}, key=lambda fact: order.index(fact[0]))
    found = []
    for fact in names:
        old, new = baseline.get(fact, ABSENT), candidate.get(fact, ABSENT)
        if old != new:
            aspect, what = fact
            difference = Difference(
                aspect=aspect, what=what, baseline=old, candidate=new, standing=_standing(aspect, allow)
            )
            found.append(difference)
    return tuple(found)


def code_is_known(run: Run) -> bool:
    """Whether another run with the same facts certainly ran the same code.

    A file counts in a clean checkout, a built-in suite always, expressions where they are torch's own. A
    suite handed over by a program brings its own code, but not that of the modules it imports.
    """
    repository = run.environment.repository
    for source in run.sources:
        if isinstance(source, FileSource) and (repository is None or repository.dirty):
            return False
        if isinstance(source, ExpressionSource) and not all(
            text.startswith("torch.") for text in source.expressions
        ):
            return False
        if isinstance(source, PickledSource):
            return False
    return True


def replicates(run: Run, others: Iterable[Run]) -> bool:
    """Whether a run may tell how levels wander under the conditions of one of the others."""
    conditions = _must_agree(run_facts(run))
    return code_is_known(run) and any(_must_agree(run_facts(other)) == conditions for other in others)


def _must_agree(facts: Mapping[Fact, str]) -> Facts:
    """The facts without which runs are not comparable at all."""
    return {fact: value for fact, value in facts.items() if fact[0] in MUST_AGREE}


def _standing(aspect: Aspect, allow: tuple[Aspect, ...]) -> Standing:
    if aspect not in MUST_AGREE:
        return Standing.NAMED
    return Standing.ALLOWED if aspect in allow else Standing.REFUSED


def _setting_facts(settings: Settings) -> Facts:
    return {(Aspect.SETTINGS, name): f"{getattr(settings, name):g}" for name in _SAMPLING}


def _code_facts(run: Run) -> Facts:
    repository = run.environment.repository
    commit = "not known"
    if repository is not None:
        commit = repository.commit[:10] + (" (dirty)" if repository.dirty else "")
    facts: Facts = {(Aspect.CODE, "commit"): commit}
    for source in run.sources:
        if isinstance(source, ExpressionSource):
            facts[Aspect.CODE, "expressions"] = ", ".join(source.expressions)
        elif isinstance(source, PickledSource):
            facts[Aspect.CODE, "suite object"] = _digest(source.payload)
        elif isinstance(source, BuiltinSource):
            facts[Aspect.CODE, f"suite {source.name}"] = "built in"
    return facts


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=4).hexdigest()
