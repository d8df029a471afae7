"""The study from the command line: calibrate, measure, report, or all of it."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.verdicts.crew import crew
from benchmarks.verdicts.measuring import Assignment, calibrate_missing, measure
from benchmarks.verdicts.report import write_report
from stepmark.errors import StepmarkError

DOCS = Path(__file__).parents[2] / "docs" / "verdicts.md"

out = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/verdicts"),
    show_default=True,
    help="Folder of raw data and calibration.",
)
jobs = click.option("--jobs", default=1, show_default=True, help="Comparisons side by side, two cores each.")
seconds = click.option("--seconds", default=10.0, show_default=True, help="Of measuring, a comparison.")
seed = click.option("--seed", default=0, show_default=True)
only = click.option("--only", multiple=True, help="Conditions to run, like 'stepmark/linear/*'.")
minutes = click.option("--minutes", type=float, required=True, help="No comparison begins after them.")


@click.group()
def study() -> None:
    """What stepmark's verdicts are worth, measured beside the tools people use now."""


@study.command()
@out
@jobs
@seconds
@seed
@only
def calibrate(*, out: Path, jobs: int, seconds: float, seed: int, only: tuple[str, ...]) -> None:
    """Measure what an empty turn costs in each workload."""
    told = Assignment(out=out, minutes=0.0, jobs=jobs, seconds=seconds, seed=seed, only=only)
    with crew(jobs) as slots:
        calibrate_missing(told, slots)


@study.command("measure")
@minutes
@out
@jobs
@seconds
@seed
@only
def measure_command(
    *, minutes: float, out: Path, jobs: int, seconds: float, seed: int, only: tuple[str, ...]
) -> None:
    """Compare, round after round; a second call goes on."""
    told = Assignment(out=out, minutes=minutes, jobs=jobs, seconds=seconds, seed=seed, only=only)
    with crew(jobs) as slots:
        measure(told, slots)


@study.command("report")
@click.option("--in", "folders", type=click.Path(path_type=Path, exists=True), multiple=True, required=True)
@click.option("--docs", type=click.Path(path_type=Path), default=DOCS, show_default=True)
def report_command(folders: tuple[Path, ...], docs: Path) -> None:
    """Write the page, its figures and a copy of the raw data."""
    write_report(folders, docs=docs)


@study.command("all")
@minutes
@out
@jobs
@seconds
@seed
@click.option("--docs", type=click.Path(path_type=Path), default=DOCS, show_default=True)
def all_command(*, minutes: float, out: Path, jobs: int, seconds: float, seed: int, docs: Path) -> None:
    """Calibrate, measure and report."""
    told = Assignment(out=out, minutes=minutes, jobs=jobs, seconds=seconds, seed=seed)
    with crew(jobs) as slots:
        measure(told, slots)
    write_report((out,), docs=docs)


def main() -> None:
    try:
        study(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except (KeyboardInterrupt, click.Abort):
        raise SystemExit("stopped; the same command goes on") from None
    except StepmarkError as error:
        raise SystemExit(f"{error.problem}\n{error.remedy}") from None


if __name__ == "__main__":
    main()
