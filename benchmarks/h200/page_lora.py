"""LoRA beside PEFT, three products and the base alone: its table, and what was asked of it."""

from __future__ import annotations

from benchmarks.h200.page_data import Row, met, rows
from stepmark.report.markdown_text import table

PATTERN = "lora-shapes*.json"
COMMAND = "`, `".join(
    f"python -m benchmarks.h200.lora --rounds 3 --dtypes {words}"
    for words in (
        "bf16 --only 64x512r8 64x1024r4 64x1024r8 64x1024r16 64x1024r32 64x1024r64 64x2048r8",
        "bf16 --only 4096x4096r16 4096x4096r4 4096x4096r64 4096x2048r8 4096x1024r8",
        "fp32 --only 64x1024r8 4096x1024r8 4096x4096r16",
    )
)
PEFT_ASKED, BASE_ASKED = 0.5, 1.12
"""Of PEFT's time where the host decides, and of the frozen base's at 4096 x 4096 r16; eager."""
HOST_BOUND, WIDE = 64, (4096, 4096, 16)
"""Tokens; tokens, features and rank."""
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
Shape = tuple[str, int, int, int]


def newest() -> dict[Shape, Row]:
    """By dtype, tokens, features and rank; of a shape that was measured again, what was measured last."""
    found: dict[Shape, Row] = {}
    for row in rows(PATTERN):
        found[row["dtype"], row["tokens"], row["features"], row["rank"]] = row
    return dict(sorted(found.items(), key=lambda one: ([*DTYPES].index(one[0][0]), *one[0][1:])))


def lora() -> str:
    lines = [line for row in newest().values() for line in _lines(row)]
    titles = ["tokens x features", "dtype", "called", "base, µs", "PEFT, µs", "ours, µs", "of PEFT"]
    return table([*titles, "of three products", "of the base", "asked", ""], "lllrrrrrrll", lines)


def of_peft() -> list[float]:
    """Our share of PEFT's time where the host decides, called from Python."""
    return [share(row, "eager", "peft") for row in newest().values() if row["tokens"] == HOST_BOUND]


def of_the_base() -> float:
    """Our time in the base's at the wide shape, called from Python."""
    return share(newest()["bf16", *WIDE], "eager", "base")


def share(row: Row, called: str, of: str) -> float:
    times: dict[str, float] = row[f"both_{called}_us"]
    return times["ours"] / times[of]


def _lines(row: Row) -> list[list[str]]:
    name = f"{row['tokens']} x {row['features']} r{row['rank']}"
    lines = []
    for called in ("eager", "graph"):
        times = row[f"both_{called}_us"]
        alone = [f"{times[one]:.0f}" for one in ("base", "peft", "ours")]
        shares = [f"{share(row, called, of):.2f}" for of in ("peft", "plain", "base")]
        asked = _asked(row) if called == "eager" else ["", ""]
        lines.append([name, DTYPES[row["dtype"]], called, *alone, *shares, *asked])
    return lines


def _asked(row: Row) -> list[str]:
    """And whether it is met."""
    if row["tokens"] == HOST_BOUND:
        return [f"{PEFT_ASKED} of PEFT", met(share(row, "eager", "peft"), PEFT_ASKED, most=True)]
    if (row["dtype"], row["tokens"], row["features"], row["rank"]) == ("bf16", *WIDE):
        return [f"{BASE_ASKED} of the base", met(share(row, "eager", "base"), BASE_ASKED, most=True)]
    return ["", ""]
