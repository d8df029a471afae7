"""The document: its structure, its policy, and that no name is ever anything but text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC
from functools import cache
from html import unescape
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.pages import make_page
from stepmark.pipeline import judged
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.run import Judgement, Recording, RunStatus
from stepmark.report.html import document
from stepmark.report.html.document import render_figures, render_fragment, render_nav, render_page
from tests.report.golden_files import check_golden
from tests.report.html.page_outline import Outline, packed
from tests.report.small_recording import record
from tests.report.troubled_examples import failures, findings
from tests.support.recordings import fail_solo
from tests.support.trials import make_failure
from tests.support.whole_runs import HOSTILE, whole_run

VEGA = "const vegaEmbed = 1;"
"""Stands for the real script, which takes seconds to make."""
alphabet = st.sampled_from(
    [*"<>&\"'/=;ab{}%()\\ ", "</script>", "<!--", "{{", "{%", HOSTILE, "\u2028", "ä", "\x00"]
)
names = st.lists(alphabet, min_size=1, max_size=6).map("".join)


@pytest.fixture(autouse=True)
def no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "vega", lambda: VEGA)


def named(variant: str, axis: str, message: str) -> tuple[Judgement, Recording]:
    """A small run in which a user's texts are everywhere."""
    recording = whole_run(
        variants={"dense": 1.0, variant: 0.8, "broken": 1.0},
        axes={axis: (8, 16)},
        num_launches=3,
        num_rounds=4,
        suite=f"suite {variant}",
    )
    recording = fail_solo(recording, "broken", make_failure(message=message))
    run = replace(
        recording.run, environment=replace(recording.run.environment, command=("run", variant, message))
    )
    recording = replace(recording, run=run)
    judgement = judged(recording)
    doubt = Finding(
        name=FindingName.WRONG_NUMBERS,
        severity=Severity.ERROR,
        case=run.cases[1].id,
        message=message,
        remedy=message,
        meaning=message,
        numbers=((message, 1.5),),
    )
    return replace(judgement, findings=(*judgement.findings, doubt)), recording


def shapes(variant: str, axis: str, message: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of the page and of every case's part; code is left out, which backticks make."""
    text = render_fragment(make_page(*named(variant, axis, message)))
    outline = Outline(text)
    assert outline.unclosed == []
    cases = packed(outline.blocks["cases"])
    rows = Outline(packed(outline.blocks["rows"]))
    parts = [outline, rows, *(Outline(case["html"]) for case in cases)]
    json.loads(outline.blocks["series"])
    return [element for part in parts for element in part.shape if element[0] != "code"]


@cache
def harmless() -> list[tuple[str, tuple[str, ...]]]:
    return shapes("plain", "axis", "a message")


@settings(max_examples=15)
@given(names, names, names)
def test_no_name_changes_the_elements_of_a_page(variant: str, axis: str, message: str) -> None:
    """Whatever a user writes, the page has the elements that it has with harmless names."""
    variant, axis = f"v{variant}", f"a{axis}"
    assert shapes(variant, axis, message) == harmless()


def test_a_hostile_name_is_shown_as_text() -> None:
    text = render_page(make_page(*named(HOSTILE, HOSTILE, HOSTILE)))
    outline = Outline(text)
    assert not any(tag == "img" for tag, _ in outline.shape)
    assert not any(name.startswith("on") for _, names in outline.shape for name in names)
    assert any(HOSTILE in line for line in outline.words)


def test_the_policy_names_the_hash_of_every_script_and_style_and_nothing_else() -> None:
    text = render_page(make_page(*named("mine", "features", "no")))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy[1].replace("&#39;", "'").split(";"))
    assert rules["default-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(scripts) == 2
    for rule, found in (("script-src", scripts), ("style-src", styles)):
        hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found]
        assert rules[rule].split() == [f"'sha256-{each}'" for each in hashes]
    assert "unsafe" not in policy[1]


def test_a_page_asks_for_nothing_from_anywhere() -> None:
    outline = Outline(render_page(make_page(*named("mine", "features", "no"))))
    for tag, known in outline.attributes:
        assert "src" not in known, tag
        assert known.get("href", "#").startswith("#"), known
        assert "style" not in known, known
    assert not any(tag in ("link", "iframe", "object", "base") for tag, _ in outline.shape)


def test_a_fragment_has_data_and_no_code() -> None:
    text = render_fragment(make_page(*named("mine", "features", "no")))
    assert set(Outline(text).blocks) == {"figures", "rows", "cases", "series"}


def test_the_structure_of_a_page() -> None:
    recording = whole_run(axes={"features": (128, 512)}, num_launches=3, num_rounds=4)
    page = make_page(judged(recording), recording)
    outline = Outline(render_page(page, zone=UTC))
    case = Outline(packed(outline.blocks["cases"])[1]["html"])
    words = [*outline.words, "", "The evidence for one case:", *case.words]
    check_golden("page.txt", "\n".join(line for line, _ in groupby(words)) + "\n")


def test_every_id_is_there_once_and_every_anchor_leads_somewhere() -> None:
    outline = Outline(render_page(make_page(*named("mine", "features", "no"))))
    ids = [known["id"] for _, known in outline.attributes if "id" in known]
    assert len(ids) == len(set(ids))
    cases = {f"#{case['anchor']}" for case in packed(outline.blocks["cases"])}
    for tag, known in outline.attributes:
        if tag == "a":
            assert known["href"] in {*cases, *(f"#{id}" for id in ids)}
        for name in ("aria-labelledby",):
            assert known.get(name, ids[0]) in ids


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (RunStatus.RUNNING, "Not finished: the run is still going on, or was cut off."),
        (RunStatus.INTERRUPTED, "Interrupted: what was measured until then is shown."),
    ],
)
def test_an_unfinished_run_says_so(status: RunStatus, words: str) -> None:
    recording = whole_run(num_launches=2, num_rounds=3)
    recording = replace(recording, run=replace(recording.run, status=status, finished=None))
    text = render_fragment(make_page(judged(recording), recording))
    assert words in text
    assert f'data-status="{status.value}"' in text


def test_nothing_measured_is_a_page_too() -> None:
    recording = whole_run(num_launches=2, num_rounds=3)
    empty = replace(recording, launches=(), solos=())
    text = render_fragment(make_page(judged(empty), empty))
    assert "12 not reached" in text.replace("\u00a0", " ")


@pytest.mark.parametrize("example", [failures, findings])
def test_troubled_runs_are_shown_with_their_troubles(example: object) -> None:
    judgement = example()  # type: ignore[operator]
    outline = Outline(render_fragment(make_page(judgement, record(judgement))))
    parts = "".join(case["html"] for case in packed(outline.blocks["cases"]))
    for finding in judgement.findings:
        assert finding.name.value in parts
    for case in judgement.cases:
        if case.failure:
            assert case.failure.outcome.value in parts


def test_parts_for_other_pages() -> None:
    page = make_page(*named("mine", "features", "no"))
    assert '<a href="#comparison">' in render_nav(page)
    figures = [figure for section in page.sections.values() for figure in section.figures]
    outline = Outline(render_figures(figures))
    assert len(packed(outline.blocks["figures"])["figures"]) == len(figures)


def test_a_failure_is_told_once() -> None:
    judgement = failures()
    text = render_fragment(make_page(judgement, record(judgement)))
    told = text.partition("Cases without numbers")[2].partition("</ul>")[0].replace("\u00a0", " ")
    lines = told.split("<li>")[1:]
    assert lines
    assert all(line.count(" case: ") + line.count(" cases: ") == 1 for line in lines)


def test_a_note_says_which_case_it_is_about() -> None:
    judgement = findings()
    page = make_page(judgement, record(judgement))
    notes = [group for group in page.view.findings if group.severity is Severity.NOTE]
    told = render_fragment(page).partition("that change no verdict")[2]
    assert notes
    assert all(f">{page.labels[group.places[0][0]]}</a>" in told for group in notes)


def test_a_figure_is_told_in_words_where_nothing_draws_it() -> None:
    recording = whole_run(num_launches=2, num_rounds=3)
    page = make_page(judged(recording), recording)
    text = unescape(render_fragment(page))
    figures = [figure for section in page.sections.values() for figure in section.figures]
    assert figures
    assert all(f"<noscript><p>{figure.alt} " in text for figure in figures)
