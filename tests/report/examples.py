"""The judgements that golden files are made of, by name."""

from __future__ import annotations

from collections.abc import Callable

from stepmark.records.run import Judgement
from tests.report.ordinary_examples import forward_only, names, normal, ops
from tests.report.sweep_examples import sweep, wide_sweep
from tests.report.troubled_examples import baseline_failed, failures, findings, one_launch, separate

EXAMPLES: dict[str, Callable[[], Judgement]] = {
    example.__name__: example
    for example in (
        *(normal, forward_only, ops, names, sweep, wide_sweep),
        *(failures, baseline_failed, findings, one_launch, separate),
    )
}
