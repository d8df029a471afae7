"""The plan of a sitting: what has changed since the data here or was never measured, the most telling first.

Kept true: what was measured leaves the plan with the commit that brings its data.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = "{folder}"
"""Where a command of the plan is to write what it is told to write."""


class Item(NamedTuple):
    """One command."""

    name: str
    words: str
    """What stands behind `python -m`."""
    seconds: int
    """After which it is ended."""
    why: str

    @property
    def least(self) -> float:
        """With less time than this it is not begun: most of its rows would be missing."""
        return 0.6 * self.seconds

    @property
    def told(self) -> str:
        """As one would type it in the folder where files are to be."""
        return f"python -m {self.words.replace(f'{FOLDER}/', '')}"

    def arguments(self, folder: Path) -> list[str]:
        return [word.replace(FOLDER, str(folder)) for word in self.words.split()]


H200 = "benchmarks.h200"
PUBLISHED = "--device cuda --preset published --missing-from h200-2026-11 --launches 1"
WIDE = "4096x4096r16 4096x4096r4 4096x4096r64 4096x2048r8 4096x1024r8"
FEW = "64x512r8 64x1024r4 64x1024r8 64x1024r16 64x1024r32 64x1024r64 64x2048r8"
CALLS = "--from-python --ways torch liger triton auto"


def reference(suite: str, seconds: int, budget: str, more: str = "") -> tuple[Item, Item]:
    """A part of a suite's reference, and its file."""
    store = f"sqlite:///{FOLDER}/{suite}.db"
    return (
        Item(
            f"reference-{suite}",
            f"stepmark run {suite} {PUBLISHED} {more}--budget {budget} --store {store}",
            seconds,
            f"of the reference of {suite} what is missing, as much as the time holds",
        ),
        Item(
            f"reference-{suite}-export",
            f"stepmark export latest --store {store} --format reference -o {FOLDER}/{suite}-part.jsonl.gz",
            30,
            "the part as a file",
        ),
    )


PLAN = (
    Item(
        "tests",
        "pytest -m gpu -n 12 --dist worksteal tests/zoo tests/instruments tests/engines",
        150,
        "gradients of few rows, offsets of 64 bits, autocast off in backward passes, shortcuts of norms, "
        "graphs of two iterations, workers on standby have not run on a card",
    ),
    Item(
        "lora-wide",
        f"{H200}.lora --dtypes bf16 --rounds 3 --only {WIDE} --name lora-shapes-wide",
        90,
        "one more way for many rows: 1.81 of the base where 1.12 is asked, and ranks 4 and 64",
    ),
    Item(
        "fragmented",
        f"{H200}.fragmented --what train inside",
        90,
        "training steps with gradients of few rows by a kernel (1.29 to 1.35x at n = 4096, 1.15x asked), "
        "and inside a network",
    ),
    Item(
        "norms",
        f"{H200}.operations --what norms {CALLS}",
        60,
        "`auto` from Python, which asks with half the Python",
    ),
    Item("softmax", f"{H200}.operations --what softmax {CALLS}", 40, "the same"),
    Item(
        "lora-few",
        f"{H200}.lora --dtypes bf16 --rounds 3 --only {FEW} --name lora-shapes-few",
        100,
        "launches that are not asked for again: 5 of 7 shapes reach 0.5 of PEFT",
    ),
    Item(
        "transformer",
        f"{H200}.transformer --what step --sizes xl,2.7B --lengths 256 --ways plain,fused,fused_graph "
        "--name transformer_step_short",
        130,
        "4 x 256 tokens of both sizes, which were never measured",
    ),
    Item(
        "lora-float32",
        f"{H200}.lora --dtypes fp32 --rounds 3 --only 64x1024r8 4096x1024r8 4096x4096r16 "
        "--name lora-shapes-float32",
        60,
        "float32 was never measured",
    ),
    Item(
        "switchback-bfloat16",
        f"{H200}.switchback --what shapes --no-peers --dtype bfloat16 --rest",
        240,
        "89 of the 142 shapes in bfloat16",
    ),
    Item(
        "transformer-published",
        f"{H200}.transformer --what published --sizes large,xl --name transformer_published_larger",
        420,
        "the published tables of large and xl",
    ),
    *reference("lora", 60, "40s"),
    *reference("transformer", 420, "6m", "--timeout 240s "),
    *reference("switchback", 480, "7m", "--sampling 50ms "),
    Item(
        "verdicts",
        f"{H200}.verdicts --kinds slowed --repeats 2 --limit 280",
        320,
        "verdicts with the family as it is now, and 2 % again",
    ),
)
