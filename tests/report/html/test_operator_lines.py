"""Operators in the evidence of a case: shares of their phase, a few lines, and names that stay text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.pages import make_page
from stepmark.pipeline import judged
from stepmark.records.inspection import OTHERS, Inspection, OperatorUse, PhaseInspection
from stepmark.records.run import Recording
from stepmark.report.html.operator_lines import MOST_SHOWN, phase_operators
from stepmark.report.html.page_view import PageView
from stepmark.report.html.templating import environment, with_page
from tests.support.whole_runs import HOSTILE, whole_run


def seen(*uses: OperatorUse, uncounted: tuple[str, ...] = ()) -> Inspection:
    """An inspection of one phase that used these."""
    phase = PhaseInspection(
        phase="forward",
        operations=sum(use.calls for use in uses),
        flops=sum(use.flops for use in uses),
        traffic=sum(use.traffic for use in uses),
        uncounted=uncounted,
        operators=uses,
    )
    return Inspection(phases=(phase, PhaseInspection(phase="loss")))


def a_use(number: int, *, seconds: float | None = 1e-6) -> OperatorUse:
    return OperatorUse(name=f"aten.op{number}.default", calls=2, flops=3.0, traffic=4.0, seconds=seconds)


@given(st.integers(1, 30), st.booleans())
def test_shares_of_a_phase_add_up_to_one(number: int, timed: bool) -> None:
    uses = [a_use(each, seconds=1e-6 if timed else None) for each in range(number)]
    (group,) = phase_operators(seen(*uses))
    assert group.calls == sum(line.calls for line in group.lines) == 2 * number
    assert len(group.lines) <= MOST_SHOWN + 1
    assert group.lines[-1].others == (number > MOST_SHOWN + 1)
    for name in ("work_share", "traffic_share"):
        assert sum(getattr(line, name) for line in group.lines) == pytest.approx(1.0)
    times = [line.time_share for line in group.lines]
    if timed:
        assert sum(each or 0.0 for each in times) == pytest.approx(1.0)
    else:
        assert times == [None] * len(times)
        assert group.seconds is None


def test_what_cannot_be_known_has_no_share() -> None:
    one = OperatorUse(name="mylib.fast.default", calls=1, traffic=8.0, seconds=1e-6)
    other = OperatorUse(name="aten.add.Tensor", calls=1, traffic=8.0, seconds=1e-6)
    (group,) = phase_operators(seen(one, other, uncounted=(one.name,)))
    first, second = group.lines
    assert (first.name, first.counted, first.work_share) == ("mylib.fast", False, None)
    assert (second.name, second.counted, second.work_share) == ("aten.add.Tensor", True, None)
    assert list(phase_operators(None)) == []


def with_operators(recording: Recording, *uses: OperatorUse) -> PageView:
    """A page whose every case used these in its forward pass."""
    solos = []
    for solo in recording.solos:
        assert solo.evidence is not None
        solos.append(replace(solo, evidence=replace(solo.evidence, inspection=seen(*uses))))
    recording = replace(recording, solos=tuple(solos))
    return make_page(judged(recording), recording)


def html_of(page: PageView) -> str:
    return environment().get_template("case.html").render(**with_page(page), case=page.cases[0])


@pytest.fixture(scope="module")
def recording() -> Recording:
    return whole_run(axes={"features": (128,)}, num_launches=3, num_rounds=6)


def test_the_evidence_shows_operators_by_phase(recording: Recording) -> None:
    html = html_of(make_page(judged(recording), recording))
    table = html.partition('<table class="operators">')[2].partition("</table>")[0]
    assert table.startswith("<caption>")
    assert [table.count(f"<b>{name}</b>") for name in ("forward", "loss", "backward", "optimizer")] == [1] * 4
    assert "<code>aten.addmm</code>" in table
    assert table.count(f">{OTHERS}</th>") == 4
    assert "style=" not in html
    assert "it is never judged" in html


def test_without_times_the_page_says_why(recording: Recording) -> None:
    html = html_of(with_operators(recording, a_use(1, seconds=None)))
    table = html.partition('<table class="operators">')[2].partition("</table>")[0]
    assert ">time</th>" not in table
    assert table.count('<td class="n share">') == 2
    assert "on an accelerator the host's clock only sees that work is launched" in html
    assert "<code>stepmark profile</code> measures the kernels" in html


def test_names_stay_text(recording: Recording) -> None:
    html = html_of(with_operators(recording, OperatorUse(name=HOSTILE, calls=1, traffic=1.0, seconds=1e-6)))
    assert HOSTILE not in html
    assert "&lt;img src=x" in html


def test_runs_of_before_have_no_table(recording: Recording) -> None:
    page = with_operators(recording)
    assert page.cases[0].operators == ()
    assert 'class="operators"' not in html_of(page)
