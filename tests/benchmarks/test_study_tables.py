"""The tables of the study on raw lines with known answers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from benchmarks.verdicts import charts
from benchmarks.verdicts.conditions import WORKLOADS
from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.report import DATA, page, write_report
from benchmarks.verdicts.results import SEPARATE, Line, Load, Trouble
from benchmarks.verdicts.rules import RULES
from benchmarks.verdicts.section import Met, Section
from benchmarks.verdicts.tables import (
    detection,
    identical,
    limits,
    means,
    peers,
    separation,
    smallest,
    variance,
)
from stepmark.records.verdict import VerdictKind
from tests.benchmarks.synthetic import SESSION, condition, ours, visit, whole_study

DOCS = Path(__file__).parents[2] / "docs"
STILL = [0.0, 0.0002, -0.0002, 0.0001, -0.0001] * 4
"""Launches of identical code without trouble: EQUIVALENT, and the interval covers 1."""
AWAY = [0.03 + each for each in STILL]
TORCH = next(rule for rule in RULES if rule.tool == "torch.utils.benchmark")


def need_the_peers() -> None:
    """Their rules are their own code."""
    for package in ("pyperf", "pytest_benchmark", "asv"):
        pytest.importorskip(package)


def met(section: Section) -> list[Met]:
    return [demand.met for demand in section.demands]


def of_every_workload(centres: Sequence[float], num: int) -> list[Line]:
    return [ours(condition(workload=w), list(centres)) for w in WORKLOADS for _ in range(num)]


def test_false_alarms_coverage_and_equivalence_are_counted() -> None:
    found = Evidence([ours(condition(), STILL)] * 8 + [ours(condition(), AWAY)] * 2).comparisons
    assert (identical.alarms(found).num, identical.alarms(found, stopped=False).num) == (2, 2)
    assert identical.called(found, VerdictKind.EQUIVALENT).num == 8
    assert identical.coverage(found).num == 8
    exact = np.std(STILL, ddof=1) / math.sqrt(len(STILL)) * 2.093  # t of 19 degrees of freedom
    assert identical.half_width(found) == pytest.approx(exact, rel=1e-3)


def test_demands_on_identical_code_follow_the_data() -> None:
    enough, wolf = of_every_workload(STILL, 60), ours(condition(workload="lora"), AWAY)
    total, alarms, whole, equivalent, covered, _ = met(identical.section(Evidence(enough)))
    assert (total, alarms, whole, equivalent) == (Met.MET,) * 4
    assert covered is Met.NOT_MET  # 100 % is not 93 to 97 %
    _, alarms, whole, _, _, _ = met(identical.section(Evidence([*enough, wolf])))
    assert (alarms, whole) == (Met.NOT_MET, Met.NOT_MET)  # 1 of 61 is more than 1 %
    assert met(identical.section(Evidence([])))[1:] == [Met.NO_DATA] * 5


def test_coverage_of_drawn_launches_is_met() -> None:
    *_, covered, _ = identical.section(whole_study(12, seed=1)).demands
    assert (covered.met, covered.text) == (Met.MET, "the 95 % interval covers 1 in 93 to 97 %")


def test_detection_is_counted_at_each_size() -> None:
    at = {workload: 0.03 if workload == "adamw" else 0.02 for workload in WORKLOADS}
    lines: list[Line] = [
        ours(condition(workload=w, effect=effect), [math.log1p(effect) + each for each in STILL])
        for w, effect in at.items()
    ]
    quiet, elsewhere = met(detection.section(Evidence(lines)))
    assert (quiet, elsewhere) == (Met.MET, Met.NO_DATA)
    missed = ours(condition(workload="lora", effect=0.02), STILL)
    quiet, _ = met(detection.section(Evidence([*lines, missed])))
    assert quiet is Met.NOT_MET


def test_smallest_effects_are_held_against_their_limits() -> None:
    near = [ours(condition(workload=w), [0.001 * sign] * 2) for w in WORKLOADS for sign in (-1, 1) * 10]
    far = [ours(condition(workload="lora"), [0.02 * sign] * 2) for sign in (-1, 1) * 10]
    assert met(smallest.section(Evidence(near))) == [Met.MET] * 4  # 0.2 % each
    assert met(smallest.section(Evidence([*near, *far]))) == [Met.NOT_MET, Met.MET, Met.MET, Met.MET]
    assert met(smallest.section(Evidence(near[:8]))) == [Met.NO_DATA] * 4


def test_peers_by_their_rule_and_at_equal_false_alarms() -> None:
    at = condition("torch.utils.benchmark", effect=0.05)
    calm = [visit(at, (1.0, 1.001, 1.05))] * 19
    found = peers.standing(Evidence([*calm, visit(at, (1.0, 1.2, 1.2))]), TORCH)
    assert (found.alarms.num, found.alarms.of) == (1, 20)
    assert [each.num for each in found.by_rule] == [0, 0]  # 1.05 / 1.001 is less than 5 %
    assert [each.num for each in found.at_equal] == [
        0,
        19,
    ]  # one alarm of twenty allowed: anything above 0.1 %


def test_demands_beside_peers_know_ties() -> None:
    still = of_every_workload(STILL, 10)
    calm: list[Line] = [
        visit(condition("torch.utils.benchmark", workload=w, effect=0.05), (1.0, 1.001, 1.05))
        for w in WORKLOADS
        for _ in range(10)
    ]
    fewer, more = peers.section(Evidence([*still, *calm])).demands
    assert (fewer.met, more.met) == (Met.TIED, Met.NO_DATA)
    loud = [visit(condition("torch.utils.benchmark", effect=0.05), (1.0, 1.1, 1.2))]
    assert met(peers.section(Evidence([*still, *calm, *loud])))[0] is Met.MET


def test_the_price_of_separate_processes_is_the_ratio_of_variances() -> None:
    wide = [3.0 * each for each in STILL]
    lines = [ours(condition(), STILL), ours(condition(SEPARATE), wide)]
    section = separation.section(Evidence(lines))
    assert met(section) == [Met.MET]
    assert "| 9 |" in section.table


def test_the_levels_of_variance() -> None:
    found = Evidence([ours(condition(), STILL)] * 3).comparisons
    assert variance.between_launches(found) == pytest.approx(np.std(STILL, ddof=1))
    assert variance.between_levels(found) == pytest.approx(np.std(STILL, ddof=1))
    assert variance.within_launch(found) == 0.02


def test_the_best_case_is_that_of_medians_of_normal_rounds() -> None:
    """Drawn anew: how often the interval holds, how often it lies inside the margin or beyond it."""
    found = Evidence([ours(condition(), STILL)]).comparisons
    limit = limits.limit_of(found, seconds=0.8, effect=0.015)
    assert (limit.call, limit.spread, limit.most_rounds) == pytest.approx((0.001, 0.02, 400.0), rel=0.01)
    rounds = np.random.default_rng(0).normal(0.0, limit.spread, (4000, round(limit.most_rounds)))
    centres = np.median(rounds, axis=1)
    margin = math.log1p(0.01)
    assert np.mean(np.abs(centres) < limit.half_width) == pytest.approx(0.95, abs=0.015)
    inside = np.mean(np.abs(centres) + limit.half_width < margin)
    beyond = np.mean(centres + math.log1p(0.015) - limit.half_width > margin)
    assert inside == pytest.approx(limit.equivalent, abs=0.02)
    assert beyond == pytest.approx(limit.found, abs=0.02)
    threshold = np.quantile(np.abs(centres), 0.95)
    assert np.mean(centres + math.log1p(limit.smallest) > threshold) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("name", means.MEANS)
def test_every_mean_of_launches_covers_the_truth_of_normal_ones(name: str) -> None:
    generator = np.random.default_rng(1)
    drawn = generator.normal(0.0, 0.01, (3000, 15))
    said = [means.MEANS[name](ours(condition(), list(row)).measured.launches) for row in drawn]
    assert np.mean([abs(point) <= half for point, half in said]) == pytest.approx(0.95, abs=0.015)


def test_a_launch_far_out_widens_the_mean_and_not_the_trimmed_one() -> None:
    far = [*STILL[:14], 0.2]
    launches = ours(condition(), far).measured.launches
    (point, half), (cut, narrow) = means.plain(launches), means.trimmed(launches)
    assert point == pytest.approx(0.2 / 15, rel=0.05)
    assert half > 0.02
    assert abs(cut) < 0.0002
    assert narrow < 0.0002
    uneven = replace(launches, rounds=(1,) * 14 + (986,))
    assert means.by_rounds(uneven)[0] == pytest.approx(0.2 * 0.986, rel=0.01)


def test_the_page_has_every_section_and_what_came_to_nothing() -> None:
    need_the_peers()
    study = whole_study(2)
    trouble = Trouble(condition=condition("asv", effect=0.03), round=0, message="a\nno such module")
    text = page(Evidence([*study.lines, trouble], study.prices))
    assert text.startswith("# What the verdicts are worth: A processor\n")
    assert text.count("\n## ") == 10
    assert "- asv: no such module (1 times)" in text
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("|", "- "))]
    for draw in (charts.estimates, charts.detection):
        drawn = draw(study)
        assert drawn.startswith("<svg")
        assert drawn.count("<circle") > 20


def test_a_page_of_two_machines_has_no_noise_of_its_own() -> None:
    other = replace(SESSION, id="other", cpu="Another processor")
    text = page(Evidence([*whole_study(1).lines, other]))
    assert text.startswith("# What the verdicts are worth\n")
    assert "A processor" in text
    assert "Another processor" in text
    assert "## What the noise leaves" not in text
    assert "## Where the variance lives" not in text


def test_an_empty_study_still_makes_a_page() -> None:
    assert "no data" in page(Evidence([]))
    assert Load.QUIET in page(whole_study(1))


@pytest.mark.parametrize("file", sorted(DOCS.glob("verdicts*.md")), ids=lambda file: str(file.stem))
def test_a_page_is_what_its_own_command_makes_of_the_data(file: Path, tmp_path: Path) -> None:
    need_the_peers()
    text = file.read_text()
    folders = [
        DATA / name for name in re.findall(r"^  --in benchmarks/verdicts/data/(\S+)", text, re.MULTILINE)
    ]
    write_report(folders, docs=tmp_path / file.name)
    assert (tmp_path / file.name).read_text() == text, "the command on the page writes it again"
