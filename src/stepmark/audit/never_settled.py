"""never-settled: a lane was still drifting when its warm-up was cut off.

Evidence. `Warmup.settled` is False: block medians had a trend, or something was still compiled, when the cap
          of the warm-up was reached.
Why.      Its first rounds then belong to the warm-up, and their share depends on how long it was measured.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity


def never_settled(case: CaseLanes) -> Finding | None:
    """Once per case, with the number of launches."""
    warmups = [lane.warmup for _, lane in case.lanes if lane.warmup is not None]
    num_restless = sum(not warmup.settled for warmup in warmups)
    if not num_restless:
        return None
    return Finding(
        name=FindingName.NEVER_SETTLED,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"did not settle in {num_restless} of {len(warmups)} launches before the warm-up was cut off "
            f"at {case.run.settings.warmup_cap:g} s"
        ),
        remedy="look for compilation, autotuning or growing state in the step; a longer warm-up may help",
        numbers=(("unsettled", float(num_restless)), ("launches", float(len(warmups)))),
    )
