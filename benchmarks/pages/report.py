"""How fast a report is: made from 200 cases, and opened in Chromium: `python -m benchmarks.pages.report`.

Writes its table into docs/report.md; `--print` writes nothing.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from benchmarks.machine import machine_line
from stepmark.pages import make_page
from stepmark.pipeline import judged
from stepmark.records.run import Recording
from stepmark.report.html.document import render_page
from stepmark.store.store import Store
from tests.browser.conftest import find_chromium
from tests.support.whole_runs import whole_run

REPEATS = 5
PAGE = Path(__file__).parents[2] / "docs" / "report.md"
MARK = "<!-- made by benchmarks/pages/report.py -->\n"
"""What comes after it in the page is replaced."""
AXES = {"features": tuple(64 * each for each in range(1, 11)), "tokens": (1, 16, 256, 1024, 4096)}
"""Fifty cells; with four variants 200 cases."""
OPENED = """() => {
  const first = performance.getEntriesByName("stepmark:figure")[0];
  return first ? first.startTime : null;
}"""


class Speed(NamedTuple):
    """Of one size of run; seconds, and bytes."""

    what: str
    judging: list[float]
    rendering: list[float]
    command: list[float]
    opening: list[float]
    all_drawn: list[float]
    size: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", dest="only_print", help="write no file")
    options = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        sys.exit("no Chromium here: install one or set STEPMARK_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        speeds = [
            measure(whole_run(axes=AXES, num_launches=10, num_rounds=60), browser),
            measure(whole_run(axes=AXES, num_launches=20, num_rounds=200), browser),
        ]
        version = browser.version
        browser.close()
    text = "\n".join([*table(speeds), "", f"{machine_line()} · {versions()} · Chromium {version}", ""])
    print(text)
    if not options.only_print:
        before = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(f"{before}{MARK}\n{text}", encoding="utf-8")


def measure(recording: Recording, browser: Browser) -> Speed:
    """Everything about one run."""
    launches = sum(launch.cell == recording.run.cases[0].cell for launch in recording.launches)
    rounds = len(recording.launches[0].lanes[0].rounds) // 8
    judging, rendering = [], []
    for _ in range(REPEATS):
        gc.collect()
        begin = time.perf_counter()
        judgement = judged(recording)
        middle = time.perf_counter()
        text = render_page(make_page(judgement, recording))
        judging.append(middle - begin)
        rendering.append(time.perf_counter() - middle)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(text, encoding="utf-8")
        opened = [opening(file, browser) for _ in range(REPEATS)]
        commands = command_times(recording, Path(folder))
    return Speed(
        what=f"{len(recording.run.cases)} cases, {launches} launches of {rounds} rounds",
        judging=judging,
        rendering=rendering,
        command=commands,
        opening=[first for first, _ in opened],
        all_drawn=[last for _, last in opened],
        size=len(text.encode()),
    )


def opening(file: Path, browser: Browser) -> tuple[float, float]:
    """Seconds from the navigation to the first and to the last figure, in a fresh window."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("[data-figures='drawn']", state="attached", timeout=60_000)
    first, last = page.evaluate(OPENED), page.evaluate(OPENED.replace("[0]", ".at(-1)"))
    context.close()
    return first / 1e3, last / 1e3


def command_times(recording: Recording, folder: Path) -> list[float]:
    """Seconds of the whole command, from a store."""
    place = folder / "runs.db"
    with Store.open(f"sqlite:///{place}") as store:
        store.begin(recording.run)
        for trial in recording.trials:
            store.append(recording.run.id, trial)
    command = [str(Path(sys.executable).parent / "stepmark"), "report", "--store", str(place)]
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        subprocess.run([*command, "--html", str(folder / "out.html")], check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return times


def table(speeds: list[Speed]) -> list[str]:
    """As Markdown."""
    head = "| run | judging | rendering | `stepmark report` in all | first figure | all figures | file |"
    rows = [
        f"| {each.what} | {_seconds(each.judging)} | {_seconds(each.rendering)} | {_seconds(each.command)} | "
        f"{_seconds(each.opening)} | {_seconds(each.all_drawn)} | {each.size / 1e6:.2f} MB |"
        for each in speeds
    ]
    return [head, "|---|---|---|---|---|---|---|", *rows]


def _seconds(times: list[float]) -> str:
    return f"{median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"


def versions() -> str:
    names = ("altair", "vl-convert-python", "jinja2")
    return " · ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


if __name__ == "__main__":
    main()
