"""Ceilings on a terminal: the best rates of a machine, one a line."""

from __future__ import annotations

from rich.text import Text

from stepmark.records.ceilings import Ceilings
from stepmark.report.format import plural
from stepmark.report.page import Page, line
from stepmark.report.sheet import Sheet

_NAME_WIDTH, _RATE_WIDTH = 18, 16


def ceilings_table(ceilings: Ceilings, *, num_measurements: int) -> Sheet:
    """Copies, then matrix products by dtype."""
    return Sheet(lambda page: _lines(ceilings, num_measurements, page))


def _lines(ceilings: Ceilings, num_measurements: int, page: Page) -> list[Text]:
    threads = plural(ceilings.threads, "thread")
    best_of = f"best of {plural(num_measurements, 'measurement')}"
    facts = [ceilings.host, ceilings.device, threads, f"torch {ceilings.torch}", best_of]
    rows = [
        ("copy in memory", _rate(ceilings.copy_memory, "B/s"), "read and written"),
        ("copy in a cache", _rate(ceilings.copy_cache, "B/s"), "read and written"),
    ]
    for rate in ceilings.matrix:
        speed = _rate(rate.flops_per_second, "FLOP/s")
        rows.append((f"{rate.dtype} product", speed, f"{rate.size} × {rate.size}"))
    width = max(_NAME_WIDTH, *(len(name) + 2 for name, _, _ in rows))
    return [*page.facts(facts), Text(), *(_row(page, width, *row) for row in rows)]


def _rate(per_second: float, unit: str) -> str:
    """`154.3 GFLOP/s`, `989.0 TFLOP/s`."""
    billions = per_second / 1e9
    return f"{billions:.1f} G{unit}" if billions < 1000.0 else f"{billions / 1000.0:.1f} T{unit}"


def _row(page: Page, width: int, name: str, rate: str, how: str) -> Text:
    return line(
        (f"{page.show(name):<{width}}", "bold"),
        (f"{page.show(rate):>{_RATE_WIDTH}}", ""),
        (f"   {page.show(how)}", "dim"),
    )
