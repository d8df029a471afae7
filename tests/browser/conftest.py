"""A real browser: the Chromium that is installed, watched for errors and requests.

Chromium is found by its usual names, or where STEPMARK_CHROMIUM says, or where `make test` had Playwright put
one because there was none; without one the tests are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, sync_playwright

from stepmark.pages import make_page
from stepmark.pipeline import judged
from stepmark.records.run import Recording
from stepmark.report.html.document import render_page
from tests.support.recordings import fail_solo
from tests.support.trials import make_failure
from tests.support.whole_runs import HOSTILE, whole_run

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


def find_chromium() -> str | None:
    """Where the browser is: what STEPMARK_CHROMIUM names, else the first of the usual names."""
    named = os.environ.get("STEPMARK_CHROMIUM")
    return named or next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@dataclass
class Watched:
    """A page with everything that went wrong in it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    """Messages of the console at error or warning level, exceptions, and violations of the policy."""
    requests: list[str] = field(default_factory=list)
    """Addresses that were asked for, files and data left out."""

    def open(self, path: Path, anchor: str = "") -> Page:
        """A file from disk."""
        self.page.goto(path.resolve().as_uri() + anchor)
        return self.page


def until(page: Page, expression: str, argument: object = None) -> None:
    """Wait for something to be true. Playwright's `wait_for_function` asks again inside the page, whose
    policy forbids to evaluate text: it fails wherever the first answer is no."""
    deadline = time.monotonic() + 20.0
    while not page.evaluate(expression, argument):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)


def write_report(recording: Recording, path: Path) -> Path:
    """The recording's report as a file, drawn by the real script."""
    path.write_text(render_page(make_page(judged(recording), recording)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which every part has something to show."""
    return write_report(whole_run(), tmp_path_factory.mktemp("pages") / "report.html")


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a run whose every name and message tries to be more than text."""
    recording = whole_run(
        variants={f"dense {HOSTILE}": 1.0, HOSTILE: 1.3, f"broken{HOSTILE}": 1.0},
        axes={f"tokens{HOSTILE}": (8, 16, 64)},
        suite=f"suite {HOSTILE}",
    )
    recording = fail_solo(recording, f"broken{HOSTILE}", make_failure(message=f"ValueError: {HOSTILE}"))
    environment = replace(recording.run.environment, command=("stepmark", "run", f"</script>{HOSTILE}"))
    recording = replace(recording, run=replace(recording.run, environment=environment))
    return write_report(recording, tmp_path_factory.mktemp("pages") / "hostile.html")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of the session."""
    found = find_chromium()
    with sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except Error:
            if found is not None:
                raise
            pytest.skip(
                f"no Chromium here: none of {', '.join(CHROMIUM_NAMES)} is on the path, and Playwright has "
                "none; install one or set STEPMARK_CHROMIUM"
            )
        yield launched
        launched.close()


Watch = Callable[..., Watched]


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    """Opens watched pages: `watch(viewport=PHONE, color_scheme="dark", offline=True)`. Options are
    Playwright's; `offline` refuses every request that is not for a file."""
    contexts: list[BrowserContext] = []

    def opened(*, offline: bool = False, **options: object) -> Watched:
        context = browser.new_context(**{"viewport": DESKTOP, **options})  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        contexts.append(context)
        watched = Watched(context.new_page())
        page = watched.page
        page.on("console", lambda told: _note(watched, told.type, told.text))
        page.on("pageerror", lambda error: watched.errors.append(f"exception: {error}"))
        page.on("request", lambda asked: _ask(watched, asked.url))
        if offline:
            context.set_offline(True)
            context.route("**/*", _refuse)
        return watched

    yield opened
    for context in contexts:
        context.close()


def _note(watched: Watched, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        watched.errors.append(f"{kind}: {text}")


def _ask(watched: Watched, url: str) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        watched.requests.append(url)


def _refuse(route: Route) -> None:
    if route.request.url.startswith("file:"):
        route.continue_()
    else:
        route.abort()
