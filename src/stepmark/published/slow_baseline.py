"""Speed-ups that are a slow baseline: 16-bit products far below those of the shapes on either side.

Method.       Each 16-bit product of a row gets its rate. Its neighbours are the same product in the rows with
              the next smaller and the next larger shape, equal in number of rows and direction. A product
              well below both is an accident of the library that computed it, and no gain of int8.
Formula.      rate = 2 b in out / time
              slow if rate < 0.75 min(rate of the neighbours)
              speed-up put right: the product's time replaced by that at the mean rate of the neighbours
Assumptions.  Rates change smoothly with the shape; they do from 16384 rows on, where the device is full.
Source.       Own rule; 0.75 lies between the largest dip elsewhere and the dips it is for (see the tests).
Fails.        At either end of the shapes, where there is one neighbour only, and for few rows, where a launch
              costs more than the product: neither is judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from stepmark.interchange.switchback_jsonl import Row, SwitchbackLines
from stepmark.published.switchback import milliseconds, narrow, speedup
from stepmark.records.record import Record

SLOW = 0.75
MIN_ROWS = 16384
"""Below it rates grow with the shape: launches dominate."""
PRODUCTS = ("standard_fwd", "standard_gx")
"""Those that int8 replaces; the weight gradient is in every total."""


class SlowBaseline(Record, frozen=True, kw_only=True):
    """A row whose baseline is slower than its neighbours'."""

    rows: int
    dim: int
    wm: float
    switch: bool
    product: str
    rate: float
    """FLOP a second."""
    neighbours: tuple[float, float]
    """Rates of the next smaller and the next larger shape."""
    rowwise: float
    """Speed-up as published."""
    rowwise_corrected: float
    global_: float
    global_corrected: float


def rate(row: Row, product: str) -> float:
    """FLOP a second of a 16-bit product."""
    return 2.0 * row.batch_size * row.dim_in * row.dim_out / (milliseconds(row, product) / 1e3)


def slow_baselines(document: SwitchbackLines) -> tuple[SlowBaseline, ...]:
    """In the order of rows and shapes."""
    groups: defaultdict[tuple[int, bool], list[Row]] = defaultdict(list)
    for row in document.rows:
        if row.batch_size >= MIN_ROWS:
            groups[row.batch_size, row.switch].append(row)
    return tuple(
        found
        for _, rows in sorted(groups.items())
        for found in _slow(sorted(rows, key=lambda row: (narrow(row), row.wm)))
    )


def _slow(rows: Sequence[Row]) -> Iterator[SlowBaseline]:
    for below, row, above in zip(rows, rows[1:], rows[2:], strict=False):
        for product in PRODUCTS:
            neighbours = (rate(below, product), rate(above, product))
            if rate(row, product) < SLOW * min(neighbours):
                yield _found(row, product, neighbours)


def _found(row: Row, product: str, neighbours: tuple[float, float]) -> SlowBaseline:
    time = milliseconds(row, product)
    usual = time * rate(row, product) / (sum(neighbours) / 2.0)
    baseline = milliseconds(row, "time_standard") - time + usual
    return SlowBaseline(
        rows=row.batch_size,
        dim=narrow(row),
        wm=float(row.wm),
        switch=row.switch,
        product=product,
        rate=rate(row, product),
        neighbours=neighbours,
        rowwise=speedup(row, "rowwise"),
        rowwise_corrected=baseline / milliseconds(row, "time_rowwise"),
        global_=speedup(row, "global"),
        global_corrected=baseline / milliseconds(row, "time_global"),
    )
