"""Facts of a page: its title names one suite with its variants, a few suites, or the first of many."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.pages import make_page
from stepmark.pipeline import judged
from stepmark.report.html.facts import page_title
from stepmark.report.html.page_view import PageView
from tests.support.recordings import make_recording


@pytest.fixture(scope="module")
def page() -> PageView:
    recording = make_recording(num_launches=2)
    return make_page(judged(recording), recording)


@pytest.mark.parametrize(
    ("num", "title"),
    [
        (2, "suite0, suite1"),
        (5, "suite0, suite1, suite2, suite3, suite4"),
        (6, "suite0, suite1, suite2, suite3 and 2 more suites"),
        (15, "suite0, suite1, suite2, suite3 and 11 more suites"),
    ],
)
def test_several_suites_are_named_and_many_are_counted(page: PageView, num: int, title: str) -> None:
    outlines = tuple(replace(page.run.suites[0], name=f"suite{place}") for place in range(num))
    assert page_title(replace(page, run=replace(page.run, suites=outlines))) == title


def test_one_suite_is_named_with_its_variants(page: PageView) -> None:
    (suite,) = page.run.suites
    assert page_title(page) == f"{suite.name}: {', '.join(one.name for one in suite.variants)}"
