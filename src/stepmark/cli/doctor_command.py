"""`stepmark doctor`: what disturbs measurements on this machine, and how often stepmark is right on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stepmark.cli.options import store_option

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stepmark.records.diagnosis import Diagnosis
    from stepmark.records.record import Record
    from stepmark.selftest import Plan

INTERRUPTED = 130


@click.command("doctor")
@click.option(
    "--selftest", is_flag=True, help="Measure things whose truth is known, with the whole of stepmark."
)
@click.option(
    "--ceilings",
    is_flag=True,
    help="Measure the best rates of this machine anew, and keep them in the store.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    metavar="cpu|cuda|cuda:N",
    help="Whose ceilings to measure, and what the self-test runs on.",
)
@store_option
@click.option(
    "--budget", default="5m", show_default=True, metavar="TIME", help="How long the self-test may take."
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Threads of torch's operators in the self-test, and of the ceilings.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Order, parameters and inputs of the self-test follow.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any warning.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--quiet", is_flag=True, help="No progress display.")
def command(
    *,
    selftest: bool,
    ceilings: bool,
    device: str,
    store: str | None,
    budget: str,
    threads: int,
    seed: int,
    strict: bool,
    format_: str,
    quiet: bool,
) -> int:
    """Find what disturbs measurements on this machine, in about three seconds.

    With --selftest, measure instead how often stepmark is right here: identical code, injected slowdowns,
    known amounts of work, time and memory. With --ceilings, how fast copies and matrix products get here:
    what no case can beat.
    """
    if ceilings:
        return _measure_ceilings(device, threads, store, format_=format_, quiet=quiet)
    if selftest:
        from stepmark.selftest import Plan
        from stepmark.units import parse_duration

        plan = Plan(budget=parse_duration(budget), device=device, threads=threads, seed=seed)
        return _self_test(plan, strict=strict, format_=format_, quiet=quiet)
    return _examine(strict=strict, format_=format_, quiet=quiet)


def _examine(*, strict: bool, format_: str, quiet: bool) -> int:
    from stepmark.cli.stage_line import stage_line
    from stepmark.doctor.examine import examine
    from stepmark.instruments.machine_state import machine_facts
    from stepmark.report.doctor_table import doctor_table

    with stage_line(quiet=quiet) as shown:
        examination = examine(machine_facts(shown.say))
    _print(examination, doctor_table(examination), format_)
    return _exit_code(examination.diagnoses, strict=strict)


def _self_test(plan: Plan, *, strict: bool, format_: str, quiet: bool) -> int:
    from stepmark.cli.stage_line import stage_line
    from stepmark.engines.local import LocalEngine
    from stepmark.report.selftest_table import selftest_table
    from stepmark.selftest import self_test
    from stepmark.store.store import Store

    with Store.open("sqlite://") as store, stage_line(quiet=quiet) as shown:
        engine = LocalEngine(plan.settings(0), tick=shown.tick)
        try:
            test = self_test(plan, engine=engine, store=store, say=shown.say, watcher=shown)
        finally:
            engine.close()
    _print(test, selftest_table(test), format_)
    return INTERRUPTED if test.interrupted else _exit_code(test.diagnoses, strict=strict)


def _measure_ceilings(device: str, threads: int, place: str | None, *, format_: str, quiet: bool) -> int:
    from stepmark.cli.stage_line import stage_line
    from stepmark.engines.local import LocalEngine
    from stepmark.errors import UsageError
    from stepmark.records.ceilings import highest
    from stepmark.records.settings import Settings
    from stepmark.report.ceilings_table import ceilings_table
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(place)) as store, stage_line(quiet=quiet) as shown:
        shown.say("measuring the ceilings of this machine")
        engine = LocalEngine(Settings(threads=threads), tick=shown.tick)
        try:
            new = engine.ceilings(device)
        finally:
            engine.close()
        if new is None:
            raise UsageError(
                f"nothing can be measured on '{device}'", remedy="use cpu, or cuda where there is one"
            )
        store.add_ceilings(new)
        kept = store.ceilings(host=new.host, device=new.device, threads=new.threads, torch=new.torch)
    best = highest(kept)
    _print(best, ceilings_table(best, num_measurements=len(kept)), format_)
    return 0


def _print(record: Record, table: RenderableType, format_: str) -> None:
    if format_ == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(record), indent=2))
        return
    from rich.console import Console

    Console(highlight=False).print(table)


def _exit_code(diagnoses: Sequence[Diagnosis], *, strict: bool) -> int:
    from stepmark.records.diagnosis import State

    return int(strict and any(diagnosis.state is State.WARNING for diagnosis in diagnoses))
