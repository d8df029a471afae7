"""The plan of a sitting: what has changed since the data here or was never measured, the most telling first.

Kept true: what was measured leaves the plan with the commit that brings its data.
"""

from __future__ import annotations

from typing import NamedTuple


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
        """As one would type it."""
        return f"python -m {self.words}"


H200 = "benchmarks.h200"
CLOCK = "tests/instruments/test_event_clock.py"


PLAN = (
    Item(
        "tests",
        f"pytest -m gpu -n 12 --dist worksteal tests/zoo tests/instruments tests/engines --ignore {CLOCK}",
        150,
        "FragmentedLinear's chains of two launches, random values of a device, LoRA's lookup of its tensors, "
        "standby, a mended test",
    ),
    Item("tests-clock", f"pytest -m gpu {CLOCK}", 40, "judges 20 µs: alone"),
    Item(
        "transformer-published",
        f"{H200}.transformer --what published --sizes large,xl --name transformer_published_larger",
        420,
        "the published tables of large and xl",
    ),
    Item(
        "switchback-float16",
        f"{H200}.switchback --what shapes --no-peers --anew",
        400,
        "one more tile among those that layers choose from: 13 of 16 large shapes reach 1.40x. In bfloat16 "
        "no graph took it",
    ),
    Item(
        "lora-wide",
        f"{H200}.lora --dtypes bf16 --rounds 3 --only 4096x4096r16 --name lora-shapes-again",
        30,
        "with less host time",
    ),
    Item(
        "verdicts",
        f"{H200}.verdicts --kinds slowed --repeats 2 --limit 280",
        320,
        "verdicts with the family as it is now, and 2 % again",
    ),
    *(
        Item(
            f"{kind}-from-python",
            f"{H200}.operations --what {kind} --from-python --ways torch liger triton auto",
            60,
            "near ties go to torch since they were timed",
        )
        for kind in ("norms", "softmax")
    ),
    Item("apart-few", f"{H200}.apart --what few", 60, "five cells in bfloat16 that nn.Linear wins"),
    Item(
        "fragmented-few",
        f"{H200}.fragmented_tilings --what few",
        150,
        "rows that choose for themselves beside the others, in graphs; more tiles for what nn.Linear wins",
    ),
)
