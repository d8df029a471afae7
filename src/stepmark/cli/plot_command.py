"""`stepmark plot`: the charts of a stored run as SVG or PNG files."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepmark.cli.one_case import case_option
from stepmark.cli.options import store_option
from stepmark.errors import UsageError

if TYPE_CHECKING:
    from stepmark.records.run import Judgement, Recording
    from stepmark.report.figures.figure import Figure

KINDS = ("forest", "sweep", "phases", "memory", "roofline", "samples", "warmup", "history")
OF_A_CASE = ("samples", "warmup", "history")
OF_A_PHASE = ("samples", "history")
FORMATS = (".svg", ".png")


@click.command("plot")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="What to draw.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    required=True,
    help="A file that ends in .svg or .png; several figures of a kind are numbered.",
)
@click.option("--suite", metavar="NAME", help="Only the figures of this suite.")
@case_option
@click.option(
    "--phase", metavar="NAME", help="For samples and history: instead of the one verdicts are about."
)
@click.option("--dark", is_flag=True, help="Light text on dark paper.")
@click.option("--scale", type=click.FloatRange(0.25, 8.0), default=2.0, show_default=True, help="Of a PNG.")
@store_option
def command(run: str, kind: str, output: str, **options: Any) -> int:
    """Draw a stored run: ratios, sweeps, phases, memory, rooflines, or one case's samples.

    RUN is its id, the beginning of it, or latest; or, of a reference that comes with stepmark, a suite:
    REFERENCE::SUITE. The files that were written are printed.
    """
    from stepmark.cli.drawing import check_drawing

    check_drawing()
    from stepmark.cli.named_run import named_run
    from stepmark.cli.stage_line import judging, stages_of

    path = _checked(output)
    gc.disable()  # a million small records are made, kept and gone with the process: a tenth of the time
    recording = named_run(run, options["store"])
    with stages_of(recording) as line:
        line.say(judging(recording))
        figures = _figures(recording, kind, options)
        files = numbered(path, len(figures))
        line.say("drawing")
        for figure, file in zip(figures, files, strict=True):
            _write(figure, file, options)
    for figure, file in zip(figures, files, strict=True):
        click.echo(f"{file}  {figure.title}")
    return 0


def _write(figure: Figure, file: Path, options: dict[str, Any]) -> None:
    from stepmark.report.figures.draw import png, svg

    dark = options["dark"]
    if file.suffix.lower() == ".svg":
        data = svg(figure, dark=dark).encode()
    else:
        data = png(figure, scale=options["scale"], dark=dark)
    try:
        file.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", remedy="name another file") from error


def numbered(path: Path, num: int) -> list[Path]:
    """`chart.svg`, or `chart-1.svg`, `chart-2.svg` for several."""
    if num == 1:
        return [path]
    return [path.with_stem(f"{path.stem}-{place}") for place in range(1, num + 1)]


def _checked(output: str) -> Path:
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"'{output}' is neither SVG nor PNG", remedy="name a file that ends in .svg or .png")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", remedy="make it first, or name another")
    return path


def _figures(recording: Recording, kind: str, options: dict[str, Any]) -> tuple[Figure, ...]:
    from stepmark.pipeline import judged

    for name, kinds in (("case", OF_A_CASE), ("phase", OF_A_PHASE)):
        if options[name] is not None and kind not in kinds:
            raise UsageError(
                f"--{name} does not go with --kind {kind}", remedy=f"it is for {', '.join(kinds)}"
            )
    recording = _of_suite(recording, options["suite"])
    if kind in OF_A_CASE:
        return _of_case(recording, kind, options)
    judgement = judged(recording)
    figures = _of_run(judgement, recording, kind)
    if not figures:
        raise UsageError(f"run {recording.run.id} has nothing for --kind {kind}", remedy=NOTHING[kind])
    return figures


NOTHING = {
    "forest": "a forest plot needs a baseline and another variant",
    "sweep": "a sweep needs an axis of numbers with two values or more",
    "phases": "phases need a step; operations are timed one by one",
    "memory": "memory is counted in the audit, which was left out or failed",
    "roofline": "a roofline needs measured ceilings and counted work: stepmark doctor measures the ceilings",
    "samples": "no launch measured this case; stepmark show --failures says why",
    "warmup": "no launch warmed this case up; stepmark show --failures says why",
}
"""What a figure needs that a run may not have."""


def _of_run(judgement: Judgement, recording: Recording, kind: str) -> tuple[Figure, ...]:
    from stepmark.analysis.crossover import crossovers
    from stepmark.report.figures.forest import forest
    from stepmark.report.figures.memory import memory
    from stepmark.report.figures.phases import phases
    from stepmark.report.figures.roofline import roofline
    from stepmark.report.figures.sweep import sweep

    if kind == "sweep":
        return sweep(judgement, crossovers(judgement, recording))
    return {"forest": forest, "phases": phases, "memory": memory, "roofline": roofline}[kind](judgement)


def _of_case(recording: Recording, kind: str, options: dict[str, Any]) -> tuple[Figure, ...]:
    from stepmark.pipeline import judged
    from stepmark.report.figures.samples import samples
    from stepmark.report.figures.warmup import warmup

    case = _chosen(recording, options["case"], kind)
    if kind == "history":
        return (_history(case, options),)
    if kind == "warmup":
        figures = warmup(recording, case)
    else:
        judgement = judged(recording)
        _check_phase(judgement, case, options["phase"])
        figures = samples(judgement, recording, case, phase=options["phase"])
    if not figures:
        raise UsageError(f"{case} has nothing for --kind {kind}", remedy=NOTHING[kind])
    return figures


def _history(case: str, options: dict[str, Any]) -> Figure:
    """Of all runs in the store."""
    from stepmark.keeping import case_history, refresh_all
    from stepmark.report.figures.history import history
    from stepmark.store.location import store_url
    from stepmark.store.store import Store

    with Store.open(store_url(options["store"]), create=False) as store:
        refresh_all(store)
        return history(case_history(store, case, phase=options["phase"]))


def _chosen(recording: Recording, text: str | None, kind: str) -> str:
    """The id of the case that --case names, or of the only one."""
    from stepmark.measure.choice import choose

    try:
        return choose(recording.run.cases, text, purpose=f"a figure of --kind {kind}").id
    except UsageError as error:
        problem = error.problem.replace("the target", f"run {recording.run.id}")
        remedy = "name one of the cases above with --case"
        raise UsageError(problem, remedy=remedy, detail=error.detail) from None


def _check_phase(judgement: Judgement, case_id: str, phase: str | None) -> None:
    """The remainder is a difference and has no blocks of its own."""
    from stepmark.analysis.times import REMAINDER

    phases = next(case.phases for case in judgement.cases if case.case.id == case_id)
    known = [name for name in phases if name != REMAINDER]
    if phase is not None and phase not in known:
        raise UsageError(f"{case_id} has no phase '{phase}'", remedy=f"it has: {', '.join(known) or 'none'}")


def _of_suite(recording: Recording, name: str | None) -> Recording:
    if name is None:
        return recording
    run = recording.run
    known = [outline.name for outline in run.suites]
    if name not in known:
        raise UsageError(f"run {run.id} has no suite '{name}'", remedy=f"it has: {', '.join(known)}")
    return recording.of_suites([name])
