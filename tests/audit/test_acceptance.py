"""Accepted findings: by the user everywhere, by the author of a variant in that variant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit import accept
from stepmark.records.finding import Finding, FindingName, Severity
from tests.support.properties import steady
from tests.support.recordings import make_run

names = st.sets(st.sampled_from(FindingName))


@steady
@given(names, names, names)
def test_a_finding_is_accepted_by_name_or_by_variant(
    user: set[FindingName], author: set[FindingName], seen: set[FindingName]
) -> None:
    run = make_run()
    (outline,) = run.suites
    variants = tuple(
        replace(variant, accepts=tuple(author)) if variant.name == "mine" else variant
        for variant in outline.variants
    )
    run = replace(run, suites=(replace(outline, variants=variants),))
    findings = [
        Finding(name=name, severity=Severity.WARNING, case=case.id, message="seen", remedy="do")
        for case in run.cases
        for name in seen
    ]
    marked = accept(findings, run=run, names=tuple(user))
    assert [replace(each, accepted=False) for each in marked] == findings
    for finding in marked:
        by_author = "/mine[" in finding.case and finding.name in author
        assert finding.accepted == (finding.name in user or by_author)
