"""compiled-inside: something was compiled, or kernels were tried, while the case was timed.

Evidence. `LaneWatch.compilations`: torch's own counts of compiled frames and of autotuning, and a count of
          kernels that Triton compiled, loaded or tried, read after every block. An unclocked iteration before
          a block counts too; building and warming up do not.
Why.      A compilation takes as long as thousands of steps. It falls on a few blocks of one variant, and what
          makes it happen once in the rounds (a new shape, a changed flag) makes it happen again.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity


def compiled_inside(case: CaseLanes) -> Finding | None:
    """Once per case, with the first round it happened in."""
    watches = [lane.watch for _, lane in case.lanes if lane.watch.compilations > 0]
    if not watches:
        return None
    number = sum(watch.compilations for watch in watches)
    first = min((watch.first_compiled for watch in watches if watch.first_compiled is not None), default=None)
    where = "" if first is None else f", the earliest in round {first}"
    times = "once" if number == 1 else f"{number} times"
    return Finding(
        name=FindingName.COMPILED_INSIDE,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"compiled or tuned {times} while it was timed, in {len(watches)} of {len(case.lanes)} "
            f"launches{where}"
        ),
        remedy="keep shapes, dtypes and flags of the step constant; TORCH_LOGS=recompiles says what changed",
        numbers=(("compilations", float(number)), ("launches", float(len(watches)))),
    )
