"""The study on the GPU: how often identical code is called FASTER or SLOWER, and an injected 2 % is found.

    python -m benchmarks.h200.verdicts --part 1/4      a quarter of the comparisons, in some minutes
    python -m benchmarks.h200.verdicts --summary DIR   all parts found there, as a table

Identical code: each workload runs as a baseline beside COPIES of itself, every one of them compared with it.
Slowed code: the baseline and one slowed copy, as `stepmark run --no-audit --budget 10s` would measure them.
How much a dose really slows is counted by other means (verdict_doses.py).
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle

from benchmarks.h200.common import save
from benchmarks.h200.verdict_doses import count_elsewhere
from benchmarks.h200.verdict_workloads import WORKLOADS
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops
from stepmark.engines.local import LocalEngine
from stepmark.measure.expand import Selection
from stepmark.pipeline import Order, judged, measure
from stepmark.presets import make_settings
from stepmark.records.case import Cache, Execution
from stepmark.records.run import Recording
from stepmark.records.source import PickledSource
from stepmark.stats.proportion import proportion_interval
from stepmark.store.store import Store

ROOT = Path(__file__).parents[2]
COPIES = 8
DOSE = 0.02
SECONDS = 10.0
"""Of a comparison with a slowed copy."""
SECONDS_OF_COPIES = 20.0
SLOWED_REPEATS = 2
COUNTED = 0.015
"""A dose that was counted at less says nothing of what is found of 2 %."""
Row = dict[str, Any]


def jobs(repeats: int) -> list[tuple[str, str, int]]:
    """Kind, workload and number, in an order in which every part has a bit of everything."""
    slowed = [("slowed", name, number) for number in range(repeats) for name in WORKLOADS]
    return [*(("identical", name, 0) for name in WORKLOADS), *slowed]


def suite_of(name: str, amounts: dict[str, int]) -> Suite:
    """The workload as baseline, and beside it copies with so much injected."""
    suite = Suite(f"gpu_{name}", modes=["ops"])
    for variant, amount in {"base": 0, **amounts}.items():

        def build(point: Point, amount: int = amount) -> Ops:
            from benchmarks.h200.verdict_workloads import WORKLOADS, slowed

            return Ops({"call": slowed(WORKLOADS[name], point.device, amount)})

        build.__name__ = variant
        suite.variant(baseline=variant == "base")(build)
    return suite


def compare(name: str, amounts: dict[str, int], *, seconds: float, seed: int, engine: LocalEngine) -> Row:
    """One run; every variant's verdict against the baseline."""
    source = PickledSource(payload=cloudpickle.dumps(suite_of(name, amounts)), path=(str(ROOT),))
    execution = Execution.GRAPH if WORKLOADS[name].graph else Execution.EAGER
    order = Order(
        sources=(source,),
        settings=make_settings("standard", budget=seconds, audit=False, seed=seed),
        selection=Selection(executions=(execution,), caches=(Cache.WARM,)),
        device="cuda",
    )
    begin = time.perf_counter()
    with Store.open("sqlite://") as store:
        recording = measure(order, engine=engine, store=store)
    return {"wall": round(time.perf_counter() - begin, 2), **_told(recording)}


def _told(recording: Recording) -> Row:
    run = recording.run
    verdicts: Row = {}
    levels: Row = {}
    for case in judged(recording).cases:
        summary = case.summary(case.primary) if case.primary else None
        if summary is not None:
            levels[case.case.variant] = {
                "us": round(summary.median.point * 1e6, 3),
                "host_us": round((summary.host_seconds or 0.0) * 1e6, 3),
                "bound": summary.bound,
                "between": round(summary.spread_between, 6),
            }
        if case.failure is not None:
            levels[case.case.variant] = {"failure": case.failure.message}
        if case.verdict is not None:
            ratio = case.verdict.ratio
            verdicts[case.case.variant] = {
                "kind": case.verdict.kind.value,
                "ratio": [round(each, 6) for each in (ratio.point, ratio.low, ratio.high)] if ratio else None,
                "reasons": [reason.name for reason in case.verdict.reasons],
                "launches": case.num_launches,
                "rounds": case.num_rounds,
            }
    return {
        "measuring": round((run.finished or run.started) - run.started, 2),
        "solo_seconds": [round(solo.seconds, 2) for solo in recording.solos],
        "launch_seconds": [round(launch.seconds, 2) for launch in recording.launches],
        "levels": levels,
        "verdicts": verdicts,
    }


def run_part(
    part: int, of: int, chosen: list[tuple[str, str, int]], *, limit: float, seconds_of_copies: float
) -> list[Row]:
    """Jobs of this part until the time is over; what failed is told and passed over."""
    mine = chosen[part - 1 :: of]
    begin = time.perf_counter()
    wanted = list(dict.fromkeys(name for kind, name, _ in mine if kind == "slowed"))
    doses = count_elsewhere(wanted, DOSE) if wanted else {}
    rows: list[Row] = []
    engine = LocalEngine(make_settings("standard"))
    try:
        for kind, name, number in mine:
            if time.perf_counter() - begin > limit:
                print("time is over", flush=True)
                break
            row: Row = {"kind": kind, "workload": name, "number": number}
            try:
                if kind == "identical":
                    amounts = {f"copy{n}": 0 for n in range(1, COPIES + 1)}
                    row |= compare(name, amounts, seconds=seconds_of_copies, seed=1000 * part, engine=engine)
                else:
                    dose = doses[name]
                    row |= {"dose": dose}
                    amounts = {"slowed": int(dose["amount"])}
                    row |= compare(name, amounts, seconds=SECONDS, seed=number + 1, engine=engine)
            except Exception as error:
                traceback.print_exc()
                row["error"] = f"{type(error).__name__}: {error}"[:500]
            rows.append(row)
            print(json.dumps(row), flush=True)
            save(f"verdicts-{part}-of-{of}", rows)
    finally:
        engine.close()
    return rows


def summary(folder: Path) -> Iterator[str]:
    """Rates with their intervals, over all parts."""
    rows = [
        row for file in sorted(folder.glob("verdicts-*.json")) for row in json.loads(file.read_text())["rows"]
    ]
    identical = [
        one for row in rows if row["kind"] == "identical" for one in row.get("verdicts", {}).values()
    ]
    slowed = [row for row in rows if row["kind"] == "slowed" and row.get("verdicts")]
    alarms = sum(one["kind"] in ("FASTER", "SLOWER") for one in identical)
    yield f"identical code called FASTER or SLOWER: {rate(alarms, len(identical))}"
    yield f"  in runs, whose copies share a baseline: {alarmed_runs(rows)}"
    yield f"a dose of {DOSE:.0%} called SLOWER: {found_of(slowed)}"
    yield f"  counted at {COUNTED:.1%} or more: {found_of([row for row in slowed if is_counted(row)])}"
    yield f"  counted at less: {found_of([row for row in slowed if not is_counted(row)])}"
    for row in rows:
        kinds = [one["kind"] for one in row.get("verdicts", {}).values()]
        base = row.get("levels", {}).get("base", {})
        told = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
        counted = ""
        if "dose" in row:
            label = "" if is_counted(row) else f" (below {COUNTED:.1%})"
            counted = f", counted {row['dose']['counted']:.2%}{label}"
        level = f"{base.get('us', 0):10.1f} us, bound by the {base.get('bound')}"
        yield f"{row['kind']:9} {row['workload']:20} {level}: {told}{counted}"


def alarmed_runs(rows: list[Row]) -> str:
    """How many runs of identical code have a verdict FASTER or SLOWER: copies beside one baseline are not
    independent of one another, runs are."""
    runs = [row["verdicts"].values() for row in rows if row["kind"] == "identical" and row.get("verdicts")]
    alarmed = [any(one["kind"] in ("FASTER", "SLOWER") for one in verdicts) for verdicts in runs]
    return rate(sum(alarmed), len(runs))


def is_counted(row: Row) -> bool:
    """Whether the dose was there when it was counted apart from stepmark's clock."""
    return float(row["dose"]["counted"]) >= COUNTED


def found_of(slowed: list[Row]) -> str:
    """How many of these comparisons said SLOWER."""
    return rate(sum(row["verdicts"]["slowed"]["kind"] == "SLOWER" for row in slowed), len(slowed))


def rate(num: int, of: int) -> str:
    """With its interval; of nothing there is none."""
    if not of:
        return "none"
    low, high = proportion_interval(num, of, confidence=0.95)
    return f"{num} of {of} [{low:.1%}, {high:.1%}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="1/1", help="I/N: the I-th of N parts")
    parser.add_argument("--limit", type=float, default=400.0, help="seconds after which nothing is begun")
    parser.add_argument(
        "--seconds-of-copies", type=float, default=SECONDS_OF_COPIES, help="of a run with its copies"
    )
    parser.add_argument("--repeats", type=int, default=SLOWED_REPEATS, help="of slowed comparisons")
    parser.add_argument("--only", default="", help="workloads, by name")
    parser.add_argument("--kinds", default="identical,slowed")
    parser.add_argument("--summary", type=Path, help="a folder of parts: print what they say together")
    options = parser.parse_args()
    if options.summary is not None:
        print("\n".join(summary(options.summary)))
        return
    part, of = (int(number) for number in options.part.split("/"))
    names = [name for name in options.only.split(",") if name] or list(WORKLOADS)
    kinds = options.kinds.split(",")
    chosen = [job for job in jobs(options.repeats) if job[0] in kinds and job[1] in names]
    run_part(part, of, chosen, limit=options.limit, seconds_of_copies=options.seconds_of_copies)


if __name__ == "__main__":
    main()
