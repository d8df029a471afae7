"""AdamW's table: one step of 124M parameters, and of the published matrix, beside torch's.

Share.     Bytes that must be moved (parameter, gradient and two moments read, all but the gradient written)
           by the rate of a copy in the same run.
"""

from __future__ import annotations

from benchmarks.h200.page_data import Row, rows
from benchmarks.h200.page_operations import SLOWER, Ways, best_of, microseconds
from stepmark.report.markdown_text import table

FILE = "operations-adamw.json"
PEERS = {"torch fused": "torch, fused", "torch foreach": "torch, foreach", "compiled": "torch.compile"}
LARGE = "gpt2"
OURS, WIDER = "triton", "triton, float32 moments"
"""Moments in the parameters' dtype, as torch's; and in float32, which torch does not have."""


def optimizers() -> dict[tuple[str, str], Ways]:
    """Steps by parameters and their dtype."""
    found: dict[tuple[str, str], Ways] = {}
    for row in rows(FILE):
        if "failed" not in row:
            found.setdefault((row["parameters"], row["dtype"].removeprefix("torch.")), {})[row["way"]] = row
    return found


def ratio(ways: Ways, what: str) -> float:
    """Our step's time in the best other's."""
    return float(ways[OURS][what] / ways[best_of(ways, what, PEERS)][what])


def all_ratios() -> list[float]:
    """In graphs and from Python."""
    return [ratio(ways, what) for ways in optimizers().values() for what in ("cold", "eager")]


def large_shares() -> list[float]:
    """Of a copy's bandwidth, 124M parameters."""
    found = [ways for (name, _), ways in optimizers().items() if name == LARGE]
    return [ways[way]["share"] for ways in found for way in (OURS, WIDER) if way in ways]


def steps() -> str:
    lines = []
    for (name, dtype), ways in optimizers().items():
        what = (
            f"GPT-2 small, {ways[OURS]['entries'] / 1e6:.0f}M" if name == LARGE else name.replace("x", " x ")
        )
        mark = "" if ratio(ways, "cold") <= SLOWER else " ✗"
        peers = (_share(ways.get(way)) for way in PEERS)
        lines.append([what, dtype, dtype, f"{_share(ways[OURS])}{mark}", *peers, *_called(ways)])
        if WIDER in ways:
            alone = ["" for _ in PEERS]
            python = microseconds(ways[WIDER]["eager"])
            lines.append([what, dtype, "float32", _share(ways[WIDER]), *alone, python, ""])
    titles = ["parameters", "dtype", "moments", "ours, µs", *PEERS.values()]
    return table([*titles, "ours from Python, µs", "best other"], "lllrrrrrr", lines)


def _share(row: Row | None) -> str:
    return "" if row is None else f"{microseconds(row['cold'])}, {100 * row['share']:.0f} %"


def _called(ways: Ways) -> tuple[str, str]:
    other = best_of(ways, "eager", PEERS)
    mark = "" if ratio(ways, "eager") <= SLOWER else " ✗"
    theirs = f"{microseconds(ways[other]['eager'])} ({PEERS[other]})"
    return f"{microseconds(ways[OURS]['eager'])}{mark}", theirs
