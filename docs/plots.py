"""The pictures of docs/plots.md: `python docs/plots.py [RUN]`; the history is of made-up runs."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from stepmark.analysis.case_history import segment
from stepmark.analysis.crossover import crossovers
from stepmark.pipeline import judged
from stepmark.records.estimate import Estimate, Method
from stepmark.records.history import CaseHistory, HistoryPoint
from stepmark.report.figures.draw import png, svg
from stepmark.report.figures.figure import Figure
from stepmark.report.figures.forest import forest
from stepmark.report.figures.history import history
from stepmark.report.figures.memory import memory
from stepmark.report.figures.phases import phases
from stepmark.report.figures.roofline import roofline
from stepmark.report.figures.samples import samples
from stepmark.report.figures.sweep import sweep
from stepmark.report.figures.warmup import warmup
from stepmark.store.location import store_url
from stepmark.store.store import Store

FOLDER = Path(__file__).with_name("figures")
CASE = "demo/low_rank[features=256]/cpu/float32/train"
HOUR = 3600.0


def made_up() -> CaseHistory:
    """Forty runs whose level rises by 6 % after 25 of them, with 0.8 % of noise."""
    generator = np.random.default_rng(7)
    levels = [1e-3 if number < 25 else 1.06e-3 for number in range(40)]
    points = [
        HistoryPoint(
            run=f"made-up-{number:02}",
            started=1_790_000_000.0 + 20.0 * HOUR * number,
            commit=f"{int(generator.integers(2**60)):040x}"[::-1],
            branch="main",
            machine="example",
            level=_estimate(level * float(np.exp(generator.normal(0.0, 0.008)))),
            ratio=None,
            verdict=None,
            conditions="example",
        )
        for number, level in enumerate(levels)
    ]
    return segment(points, case="made-up/mine[features=512]/cpu/float32/train", phase="step")


def _estimate(point: float) -> Estimate:
    return Estimate(
        point=point,
        low=0.993 * point,
        high=1.007 * point,
        confidence=0.95,
        method=Method.T_LAUNCHES,
        num_launches=10,
    )


def write(name: str, figure: Figure, *, dark: bool = False) -> None:
    """Vectors where there are few marks, pixels where there are many."""
    drawn = svg(figure, dark=dark)
    small = len(drawn) < 150_000
    path = FOLDER / f"plot-{name}.{'svg' if small else 'png'}"
    path.write_bytes(drawn.encode() if small else png(figure, scale=1.5, dark=dark))
    click.echo(str(path))


@click.command()
@click.argument("run", default="latest")
@click.option("--store")
def draw(run: str, store: str | None) -> None:
    """Write docs/figures/plot-*: from a run of `stepmark run demo --set features=64,128,256,512`."""
    with Store.open(store_url(store), create=False) as opened:
        recording = opened.load(opened.resolve(run))
    judgement = judged(recording)
    write("forest", forest(judgement)[0])
    write("sweep", sweep(judgement, crossovers(judgement, recording))[0])
    write("phases", phases(judgement)[0])
    write("memory", memory(judgement)[0])
    write("roofline", roofline(judgement)[0], dark=True)
    order, launches = samples(judgement, recording, CASE)
    write("samples-1", order)
    write("samples-2", launches)
    write("warmup", warmup(recording, CASE)[0])
    write("history", history(made_up()))


if __name__ == "__main__":
    draw()
