"""A comparison as CSV: one row per case and phase, raw numbers, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from stepmark.records.comparison import CaseComparison, Comparison, PhaseComparison, Standing
from stepmark.report.csv_text import Value, as_cell

COLUMNS = (
    *("baseline_run", "candidate_run", "case", "baseline_case", "suite", "variant", "point"),
    *("device", "dtype", "mode", "execution", "cache", "phase", "primary"),
    *("baseline_seconds", "candidate_seconds"),
    *("ratio", "ratio_low", "ratio_high", "verdict", "reasons", "refused", "allowed", "differs"),
    *("baseline_launches", "candidate_launches", "centre", "run_spread", "run_spread_runs"),
    *("margin", "confidence", "interval"),
)


def render(comparison: Comparison) -> str:
    """A heading and the rows; what is not known is left empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
    writer.writeheader()
    for case in comparison.cases:
        head = _head(comparison, case)
        rows = (head | _phase(phase, primary=phase is case.primary) for phase in case.phases)
        writer.writerows({name: as_cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _head(comparison: Comparison, case: CaseComparison) -> dict[str, Value]:
    cell, terms = case.case.cell, comparison.terms
    return {
        "baseline_run": comparison.baseline.id,
        "candidate_run": comparison.candidate.id,
        "case": case.case.id,
        "baseline_case": case.baseline.id,
        "suite": cell.suite,
        "variant": case.case.variant,
        "point": cell.point,
        "device": cell.device,
        "dtype": cell.dtype,
        "mode": cell.mode.value,
        "execution": cell.execution.value,
        "cache": cell.cache.value,
        "refused": _aspects(comparison, case, Standing.REFUSED),
        "allowed": _aspects(comparison, case, Standing.ALLOWED),
        "differs": _aspects(comparison, case, Standing.NAMED),
        "centre": terms.centre.value,
        "margin": terms.policy.margin,
        "confidence": terms.policy.confidence,
    }


def _aspects(comparison: Comparison, case: CaseComparison, standing: Standing) -> str:
    found = (*comparison.differences, *case.differences)
    return "; ".join(dict.fromkeys(each.aspect.value for each in found if each.standing is standing))


def _phase(phase: PhaseComparison, *, primary: bool) -> dict[str, Value]:
    ratio, spread = phase.ratio, phase.spread
    return {
        "phase": phase.phase,
        "primary": primary,
        "baseline_seconds": phase.baseline_seconds,
        "candidate_seconds": phase.candidate_seconds,
        "ratio": ratio.point if ratio else None,
        "ratio_low": ratio.low if ratio else None,
        "ratio_high": ratio.high if ratio else None,
        "verdict": phase.kind.value,
        "reasons": "; ".join(phase.reasons),
        "baseline_launches": phase.baseline_launches,
        "candidate_launches": phase.candidate_launches,
        "run_spread": spread.deviation if spread else None,
        "run_spread_runs": spread.num_runs if spread else None,
        "interval": ratio.method.value if ratio else None,
    }
