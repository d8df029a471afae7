"""The doses: how large the injected slowdowns are, by counting and by measuring."""

from __future__ import annotations

from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.section import NAMES, Section, percent, table


def section(evidence: Evidence) -> Section:
    rows = []
    for price in evidence.prices:
        for check in price.checks:
            size = check.measured
            rows.append(
                (
                    NAMES[price.workload],
                    str(price.threads),
                    f"{price.base_seconds * 1e6:.1f} µs",
                    f"{price.turn.point * price.base_seconds * 1e9:.2f} ns",
                    percent(check.effect, digits=0),
                    str(check.turns),
                    percent(check.turns * price.turn.point),
                    f"{percent(size.point)} [{percent(size.low)}, {percent(size.high)}]",
                )
            )
    return Section(
        "The injected slowdowns",
        "An injected slowdown is a loop of empty turns after each call; the base runs the same loop "
        "without turns. The price of a turn was measured inside each workload with a loop that slows it by "
        "about 30 %, a dose is its turns times that price, and a further run measured three doses beside "
        "the base: this table. The price changes with the machine's mood, so stepmark's slowed comparisons "
        "did not use it: each counted its turns by a price measured in the four seconds before it "
        "(`turn` in the raw data). The other tools' visits, of half a minute, used this table's.",
        table(("workload", "threads", "a call", "a turn", "wanted", "turns", "counted", "measured"), rows),
    )
