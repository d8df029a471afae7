"""Tables of the study on the GPU: identical code, and code slowed by a dose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.h200.page_data import Row, met, rows, span
from benchmarks.h200.verdicts import COUNTED, DOSE, alarmed_runs, found_of, is_counted, rate
from stepmark.report.markdown_text import plain, table

PATTERN = "verdicts-*.json"
MOST_ALARMS, LEAST_FOUND = 0.02, 0.9
"""Asked for."""


def of_kind(kind: str) -> list[Row]:
    return [row for row in rows(PATTERN) if row["kind"] == kind and row.get("verdicts")]


def identical() -> list[dict[str, Any]]:
    return [one for row in of_kind("identical") for one in row["verdicts"].values()]


def rates() -> str:
    """What was asked for, and what came out."""
    every, slowed = identical(), of_kind("slowed")
    alarms = sum(one["kind"] in ("FASTER", "SLOWER") for one in every)
    seen, unseen = ([row for row in slowed if is_counted(row) is kind] for kind in (True, False))
    found = sum(row["verdicts"]["slowed"]["kind"] == "SLOWER" for row in seen)
    quiet = met(alarms / len(every), MOST_ALARMS, most=True)
    asked = f"at most {MOST_ALARMS:.0%} of 100 or more", f"at least {LEAST_FOUND:.0%}"
    by_run = alarmed_runs(of_kind("identical"))
    lines = [
        ["identical code called FASTER or SLOWER", rate(alarms, len(every)), asked[0], quiet],
        ["the same by runs, each of 8 copies beside one baseline", by_run, "", ""],
        [
            f"{DOSE:.0%} more work called SLOWER within 10 s, the dose counted at {COUNTED:.1%} or more",
            found_of(seen),
            asked[1],
            met(found / len(seen), LEAST_FOUND),
        ],
        ["the same, the dose counted at less", found_of(unseen), "", ""],
    ]
    return table(["", "95 % interval", "asked", ""], "lrll", lines)


def by_workload() -> str:
    slowed = of_kind("slowed")
    lines = [
        [*_copies(row), *_slowed([one for one in slowed if one["workload"] == row["workload"]])]
        for row in of_kind("identical")
    ]
    titles = ["workload", "time, µs", "bound by", "verdicts of identical code", "their estimates"]
    return table([*titles, "doses counted", "estimated", "verdicts", "seconds"], "lrllrrrlr", lines)


def _copies(row: Row) -> Iterator[str]:
    base = row["levels"]["base"]
    kinds = [one["kind"] for one in row["verdicts"].values()]
    yield plain(row["workload"])
    yield f"{base['us']:.1f}"
    yield str(base["bound"])
    yield ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted({*kinds}))
    yield span((one["ratio"][0] for one in row["verdicts"].values()), 3)


def _slowed(found: list[Row]) -> Iterator[str]:
    """Every comparison with a dose, in the order in which they were made."""
    verdicts = [row["verdicts"]["slowed"] for row in found]
    yield ", ".join(f"{100 * row['dose']['counted']:.1f}{'' if is_counted(row) else '†'}" for row in found)
    yield ", ".join(f"{one['ratio'][0]:.3f}" for one in verdicts)
    yield ", ".join(one["kind"] for one in verdicts)
    yield ", ".join(f"{row['measuring']:.0f}" for row in found)
