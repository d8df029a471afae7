"""`stepmark doctor`: what disturbs measurements on this machine, and how often stepmark is right on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stepmark.records.diagnosis import Diagnosis
    from stepmark.records.record import Record

INTERRUPTED = 130


@click.command("doctor")
@click.option(
    "--selftest", is_flag=True, help="Measure things whose truth is known, with the whole of stepmark."
)
@click.option(
    "--budget", default="5m", show_default=True, metavar="TIME", help="How long the self-test may take."
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Threads of torch's operators in the self-test.",
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
    *, selftest: bool, budget: str, threads: int, seed: int, strict: bool, format_: str, quiet: bool
) -> int:
    """Find what disturbs measurements on this machine, in about three seconds.

    With --selftest, measure instead how often stepmark is right here: identical code, injected slowdowns,
    known amounts of work, time and memory.
    """
    if selftest:
        return _self_test(budget, threads, seed, strict=strict, format_=format_, quiet=quiet)
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


def _self_test(budget: str, threads: int, seed: int, *, strict: bool, format_: str, quiet: bool) -> int:
    from stepmark.cli.stage_line import stage_line
    from stepmark.engines.local import LocalEngine
    from stepmark.report.selftest_table import selftest_table
    from stepmark.selftest import Plan, self_test
    from stepmark.store.store import Store
    from stepmark.units import parse_duration

    plan = Plan(budget=parse_duration(budget), threads=threads, seed=seed)
    with Store.open("sqlite://") as store, stage_line(quiet=quiet) as shown:
        engine = LocalEngine(plan.settings(0), tick=shown.tick)
        try:
            test = self_test(plan, engine=engine, store=store, say=shown.say, watcher=shown)
        finally:
            engine.close()
    _print(test, selftest_table(test), format_)
    return INTERRUPTED if test.interrupted else _exit_code(test.diagnoses, strict=strict)


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
