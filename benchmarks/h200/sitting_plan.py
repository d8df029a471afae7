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
KERNELS = "tests/zoo/kernels"
PUBLISHED = "--device cuda --preset published --missing-from h200-2026-11"
WIDE = "4096x4096r16 4096x4096r4 4096x4096r64 4096x2048r8 4096x1024r8"
PLAN = (
    Item(
        "tests",
        f"pytest -m gpu -x {KERNELS}/test_lora_function.py {KERNELS}/test_few_rows.py "
        f"{KERNELS}/test_few_rows_gradients.py {KERNELS}/test_fragmented_kernels.py "
        f"{KERNELS}/test_row_choice.py tests/instruments",
        180,
        "gradients of few rows, offsets of 64 bits, autocast off in backward passes, shortcuts of norms, "
        "graphs of two iterations have not run compiled",
    ),
    Item(
        "lora-wide",
        f"{H200}.lora --dtypes bf16 --rounds 3 --only {WIDE} --name lora-shapes-wide",
        110,
        "one more way for many rows: 1.81 of the base where 1.12 is asked, and ranks 4 and 64",
    ),
    Item(
        "fragmented",
        f"{H200}.fragmented --what train cells",
        170,
        "training steps with gradients of few rows by a kernel (1.29 to 1.35x at n = 4096, 1.15x asked); "
        "whether offsets of 64 bits cost anything",
    ),
    Item(
        "norms",
        f"{H200}.operations --what norms",
        170,
        "`auto` from Python, which asks with half the Python",
    ),
    Item(
        "transformer",
        f"{H200}.transformer --what step --sizes xl,2.7B --name transformer_step_larger",
        200,
        "4 x 256 tokens, and both sizes with the kernels as they are",
    ),
    Item(
        "switchback-bfloat16",
        f"{H200}.switchback --what shapes --no-peers --dtype bfloat16",
        240,
        "89 of the 142 shapes in bfloat16",
    ),
    Item(
        "lora-few",
        f"{H200}.lora --dtypes bf16 --rounds 3 --only 64x512r8 64x1024r4 64x1024r8 64x1024r16 64x1024r32 "
        "64x1024r64 64x2048r8 --name lora-shapes-few",
        120,
        "launches that are not asked for again: 5 of 7 shapes reach 0.5 of PEFT",
    ),
    Item(
        "lora-float32",
        f"{H200}.lora --dtypes fp32 --rounds 3 --only 64x1024r8 4096x1024r8 4096x4096r16 "
        "--name lora-shapes-float32",
        90,
        "float32 was never measured",
    ),
    Item(
        "verdicts",
        f"{H200}.verdicts --kinds slowed --repeats 2 --limit 280",
        320,
        "verdicts with the family as it is now, and 2 % again",
    ),
    Item(
        "reference",
        f"stepmark run switchback {PUBLISHED} --budget 4m --store sqlite:///{FOLDER}/part.db",
        290,
        "the reference, part by part",
    ),
    Item(
        "reference-export",
        f"stepmark export latest --store sqlite:///{FOLDER}/part.db --format reference "
        f"-o {FOLDER}/switchback-2.jsonl.gz",
        30,
        "the part as a file",
    ),
)
