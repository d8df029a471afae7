"""Facts about a page's run and cases as texts: what stands in lists of names and values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from stepmark.records.evidence import TensorFacts
from stepmark.records.spread import Level
from stepmark.report import format as show
from stepmark.report.html.page_view import CaseEvidence, PageView
from stepmark.report.html.series import Carried
from stepmark.report.wording import footer_facts

Fact = tuple[str, str]
MOST_NAMED = 5
"""Suites in a title: all are listed below it."""
SPREAD = {Level.ROUND: "from round to round", Level.LAUNCH: "from launch to launch"}


def page_title(page: PageView) -> str:
    """`demo: dense, twin, low_rank`, or the suites alone where there are several; of many, the first."""
    suites = page.run.suites
    if len(suites) == 1:
        return f"{suites[0].name}: {', '.join(variant.name for variant in suites[0].variants)}"
    names = [outline.name for outline in suites]
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more suites"


def machine(page: PageView) -> str:
    """`bench: Example CPU, 4 cores, 16 GiB; Linux 6.1`."""
    host = page.environment.host
    cores = show.plural(host.logical_cores, "core")
    parts = [f"{host.hostname}: {host.cpu_model}", cores, f"{show.size(host.memory_bytes)} of memory"]
    system = " ".join(host.os.split("-")[:2])
    return ", ".join([*parts, *page.environment.torch.devices, system])


def command(page: PageView) -> str:
    """As it was typed."""
    return shlex.join(page.environment.command) or "not recorded"


def carried(page: PageView) -> str:
    """Which raw values the page has."""
    if page.carried == Carried.ALL:
        return "This page carries every raw value of the run."
    whole = f"stepmark export {page.run.id} --format jsonl writes all of them."
    if page.carried == Carried.PRIMARY:
        return f"This page carries every raw value of the phases that verdicts are about; {whole}"
    return f"This page carries every {page.every}th round of the phases that verdicts are about; {whole}"


def making(page: PageView) -> Iterator[Fact]:
    """How the run was made."""
    how, _ = footer_facts(page.view.footer)
    environment, settings = page.environment, page.run.settings
    host, torch = environment.host, environment.torch
    yield "Protocol", " · ".join(how)
    yield "Processor", ", ".join(_processor(page))
    yield "Memory", show.size(host.memory_bytes)
    if torch.devices:
        yield "Accelerators", ", ".join(torch.devices)
    yield "System", host.os
    yield "Software", f"torch {torch.version}, Python {host.python}, stepmark {environment.stepmark}"
    yield "Threads", "torch's choice" if settings.threads is None else str(settings.threads)
    flags = ", ".join(f"{name}={value}" for name, value in torch.flags)
    if flags:
        yield "Settings of torch", flags
    variables = ", ".join(f"{name}={value}" for name, value in environment.variables)
    if variables:
        yield "Environment variables", variables
    if environment.repository:
        dirty = ", with changes that are not committed" if environment.repository.dirty else ""
        yield "Commit", f"{environment.repository.commit}{dirty}"
    loads = [f"{load.load_1m:.2f}" for load in page.loads if load.load_1m is not None]
    if loads:
        yield "Load of the machine", " at the start, ".join(loads) + (" at the end" if len(loads) > 1 else "")


def _processor(page: PageView) -> Iterator[str]:
    host = page.environment.host
    yield host.cpu_model
    if host.physical_cores:
        yield f"{host.physical_cores} physical and {host.logical_cores} logical cores"
    if host.frequency_mhz:
        yield f"{host.frequency_mhz:.0f}{show.NBSP}MHz"
    if host.governor:
        yield f"governor {host.governor}"


def case_facts(case: CaseEvidence) -> Iterator[Fact]:
    """What the case is made of."""
    judged, solo = case.judged, case.solo
    if judged.num_launches:
        rounds = show.plural(judged.num_rounds, "round")
        yield "Measured", f"{show.plural(judged.num_launches, 'launch')} × {rounds}"
    if judged.parameters:
        yield "Parameters", show.count(judged.parameters)
    if solo and solo.inputs:
        yield "Inputs", ", ".join(map(_tensor, solo.inputs))
    if solo and solo.output:
        yield "Output", _tensor(solo.output)
    if judged.limit:
        yield "Of the limit", f"{show.limit(judged.limit)} (by {judged.limit.by})"
    if judged.memory:
        memory = judged.memory
        added = f"{show.size(memory.own)} kept and {show.size(memory.above_start)} added"
        yield (
            "Peak memory",
            f"{show.size(memory.peak)}: {added}, {show.size(memory.saved)} saved for backward",
        )
    if judged.spread:
        yield "Most of the spread", SPREAD[judged.spread.dominant]
    if solo and solo.first_step_seconds:
        yield "First step", show.seconds(solo.first_step_seconds)
    for check in solo.numbers if solo else ():
        told = check.problem or f"error {check.error:.2g}, tolerance {check.tolerance:.2g}"
        yield f"Numbers: {check.what}", told


def _tensor(facts: TensorFacts) -> str:
    return f"{' × '.join(map(str, facts.shape)) or 'scalar'} {facts.dtype}"
