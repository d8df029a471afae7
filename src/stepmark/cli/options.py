"""Options shared by the commands that measure, and what they mean together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from stepmark.errors import UsageError
from stepmark.measure.expand import STANDARD, Selection
from stepmark.presets import PRESETS, make_settings
from stepmark.records.case import Cache, caches_named, modes_and_executions
from stepmark.records.finding import finding_named
from stepmark.records.settings import Isolation, Policy, Settings
from stepmark.records.verdict import VerdictKind
from stepmark.units import parse_duration, parse_fraction

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = (
    *("table", "markdown", "csv", "json", "jsonl", "criterion"),
    *("fragmented-text", "switchback-jsonl", "grid"),
)
_KINDS = tuple(kind.value.lower() for kind in VerdictKind)


def together(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, listed in this order."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


store_option = click.option(
    "--store", metavar="URL", help="Where runs are kept: a file or database URL [env: STEPMARK_STORE]."
)

format_option = click.option(
    "--format",
    "format_",
    metavar="NAME",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.",
)

accept_option = click.option(
    "--accept",
    multiple=True,
    metavar="FINDINGS",
    help="Findings, by name, that are expected and do not make a verdict INVALID.",
)

mode_option = click.option(
    "--mode",
    metavar="NAMES",
    help="Instead of the suite's: train,forward; and how they run: eager, graph (captured into a CUDA graph "
    "and replayed), compiled. Every mode named runs in every way named.",
)

cache_option = click.option(
    "--cache",
    type=click.Choice(["warm", "cold", "both"]),
    help="What the device's cache holds when an iteration begins: by default warm, both for operations on "
    "CUDA. Cold needs CUDA.",
)

measuring_options = together(
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default="standard",
        show_default=True,
        help="How much: at most 10, 40 or 100 launches per cell, within five minutes (quick: 15 seconds), "
        "and the suite's cells of that name; published: all cells of a published result, like standard.",
    ),
    click.option("--budget", metavar="TIME", help="Start nothing new after this time: 60s, 5m."),
    click.option(
        "--launches", type=click.IntRange(1), metavar="N", help="Fresh processes per cell, at most."
    ),
    click.option(
        "--sampling",
        metavar="TIME",
        help="Of each lane in a launch: by default 150ms, until four launches of a cell tell which length is "
        "worth most; of the preset quick 80ms, which stays so.",
    ),
    click.option(
        "--no-early-stop",
        is_flag=True,
        help="Go on to the last launch or the end of the budget, even when every verdict is decided.",
    ),
    click.option(
        "--margin",
        default="1%",
        show_default=True,
        metavar="FRACTION",
        help="Differences smaller than this do not matter.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="Order, parameters and inputs follow."
    ),
    click.option(
        "--threads",
        default="1",
        show_default=True,
        metavar="N|auto",
        help="Threads of torch's operators; auto leaves torch's choice.",
    ),
    click.option("--dtype", metavar="NAMES", help="Instead of the suite's: float32,bfloat16."),
    mode_option,
    cache_option,
    click.option(
        "--device",
        default="cpu",
        show_default=True,
        metavar="cpu|cuda|auto",
        help="Where to run; auto takes the accelerator if there is one.",
    ),
    click.option(
        "--isolation",
        type=click.Choice([isolation.value for isolation in Isolation]),
        default=Isolation.SHARED.value,
        show_default=True,
        help="Variants side by side in one process, each in its own, or one after another.",
    ),
    click.option(
        "--timeout",
        default="120s",
        show_default=True,
        metavar="TIME",
        help="A worker silent for longer hangs.",
    ),
    click.option(
        "--start",
        type=click.Choice(["fork", "spawn"]),
        default="fork",
        show_default=True,
        help="How workers start: forked from a server with torch imported, or as fresh interpreters.",
    ),
    accept_option,
    click.option("--no-audit", is_flag=True, help="Leave out the instrumented step of each case."),
    store_option,
    format_option,
    click.option(
        "--against",
        metavar="RUN",
        help="Compare with a stored run or baseline too, unpaired; with --format criterion its change lines. "
        "`published` puts the published numbers beside ours.",
    ),
    click.option("--html", metavar="FILE", help="Write the report as one HTML file too."),
    click.option(
        "--fail-on",
        metavar="NAMES",
        help="Exit with 1 if there is one of these: verdicts like slower,invalid, findings by name, errors, "
        "warnings.",
    ),
    click.option(
        "--with-profile-overhead",
        "profile_overhead",
        is_flag=True,
        help="Then measure what torch.profiler costs each case, and print the table.",
    ),
    click.option("--quiet", is_flag=True, help="No progress display."),
)


def settings_of(options: dict[str, Any]) -> Settings:
    """The protocol's settings from the options."""
    budget, sampling = options["budget"], options["sampling"]
    return make_settings(
        options["preset"],
        threads=threads_of(options["threads"]),
        budget=parse_duration(budget) if budget is not None else None,
        launches=options["launches"],
        round_seconds=parse_duration(sampling) if sampling is not None else None,
        seed=options["seed"],
        isolation=Isolation(options["isolation"]),
        stop=False if options["no_early_stop"] else None,
        timeout=parse_duration(options["timeout"]),
        audit=False if options["no_audit"] else None,
    )


def policy_of(options: dict[str, Any]) -> Policy:
    return Policy(margin=parse_fraction(options["margin"]), accepted=accepted_of(options["accept"]))


def accepted_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The findings that --accept names, each once."""
    names = [finding_named(name).value for text in texts for name in names_in(text)]
    return tuple(dict.fromkeys(names))


def selection_of(options: dict[str, Any]) -> Selection:
    """Axes, filter, dtypes, modes and regimes from the options; `set`, `filter` and `cache`
    may be missing."""
    modes, executions = modes_and_executions(names_in(options["mode"]))
    return Selection(
        axes=dict(_assignment(text) for text in options.get("set_", ())),
        condition=_all_of(options.get("filter_", ())),
        dtypes=tuple(names_in(options["dtype"])),
        modes=modes,
        executions=executions,
        caches=caches_named(options.get("cache", Cache.WARM.value)),
        preset=options.get("preset", STANDARD),
    )


def _all_of(conditions: Sequence[str]) -> str | None:
    """One condition: that all of them hold."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return " and ".join(f"({condition})" for condition in conditions)


def failing_verdicts(options: dict[str, Any]) -> frozenset[VerdictKind]:
    """The verdicts that make a comparison of stored runs fail."""
    kinds = []
    for name in names_in(options["fail_on"]):
        if name.lower() not in _KINDS:
            raise UsageError(f"--fail-on knows no verdict '{name}'", remedy=f"use: {', '.join(_KINDS)}")
        kinds.append(VerdictKind(name.upper()))
    return frozenset(kinds)


def threads_of(text: str) -> int | None:
    """None for `auto`, which leaves torch's choice."""
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"'{text}' is not a number of threads", remedy="write --threads 4 or --threads auto")
    return int(text)


def command_line() -> tuple[str, ...]:
    """The command as it was typed."""
    return ("stepmark", *(word.encode(errors="backslashreplace").decode() for word in sys.argv[1:]))


def names_in(text: str | None) -> list[str]:
    """`a,b` as a list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _assignment(text: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text} sets nothing", remedy="write it like --set features=512,1024")
    return name.strip(), values
