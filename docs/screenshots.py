"""The screenshots of the docs: a stored run's report in Chromium: `python -m docs.screenshots [RUN]`.

Writes docs/screenshots/*.png: wide and on a phone, in light and in dark, and the evidence for one
case with its operators.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from playwright.sync_api import Browser, Page, sync_playwright

from stepmark.cli.html_file import write_html
from stepmark.pipeline import judged
from stepmark.store.location import store_url
from stepmark.store.store import Store
from tests.browser.conftest import PHONE, find_chromium

FOLDER = Path(__file__).with_name("screenshots")
WIDE = {"width": 1280, "height": 1500}


@click.command()
@click.argument("run", default="latest")
@click.option("--store")
@click.option("--case", "case_", default=3, show_default=True, help="The case whose evidence is shown.")
def take(run: str, store: str | None, case_: int) -> None:
    """Write docs/screenshots/."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("no Chromium here: install one or set STEPMARK_CHROMIUM")
    with Store.open(store_url(store), create=False) as opened:
        recording = opened.load(opened.resolve(run))
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = write_html(judged(recording), recording, Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shoot(browser, file, case=case_)
        browser.close()
    click.echo(f"{FOLDER}: {', '.join(sorted(each.name for each in FOLDER.glob('*.png')))}")


def shoot(browser: Browser, file: Path, *, case: int) -> None:
    """Every picture."""
    with opened(browser, file, scheme="light") as page:
        page.screenshot(path=FOLDER / "report.png")
    with opened(browser, file, scheme="dark") as page:
        page.screenshot(path=FOLDER / "report-dark.png")
    with opened(browser, file, scheme="light", phone=True, anchor="#comparison") as page:
        page.screenshot(path=FOLDER / "report-phone.png")
    with opened(browser, file, scheme="light", anchor=f"#case-{case}") as page:
        page.screenshot(path=FOLDER / "evidence.png")
        page.locator("table.operators").first.screenshot(path=FOLDER / "operators.png")


@contextmanager
def opened(
    browser: Browser, file: Path, *, scheme: str, phone: bool = False, anchor: str = ""
) -> Iterator[Page]:
    """The report with all its figures drawn."""
    context = browser.new_context(
        viewport={**PHONE, "height": 1500} if phone else WIDE,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        is_mobile=phone,
        device_scale_factor=1.5 if phone else 1,
        offline=True,
    )
    page = context.new_page()
    page.goto(file.as_uri() + anchor)
    page.wait_for_selector("[data-figures='drawn']", state="attached")
    if anchor.startswith("#case"):
        page.wait_for_selector("[data-case-view][data-shown]")
        page.evaluate("document.querySelector('[data-case-view]').scrollIntoView()")
    elif anchor:
        page.evaluate(f"document.querySelector('{anchor}').scrollIntoView()")
    yield page
    context.close()


if __name__ == "__main__":
    take()
