"""`python -m stepmark.zoo.precision`: the sums with their reasons, and the formats by place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import astuple, fields

import torch

from stepmark.zoo.precision.accumulation import EXPERIMENTS, PUBLISHED, in_words
from stepmark.zoo.precision.autocast import PUBLISHED_PLACES, DtypesByPlace, dtypes_by_place


def sums() -> Iterator[str]:
    """Each experiment: its result, the published one, and why."""
    for name, run in EXPERIMENTS.items():
        seen = run()
        published = f" (published: {PUBLISHED[name]})" if name in PUBLISHED else ""
        yield f"{name}: {seen.result:.8g}{published}"
        yield f"  {in_words(seen)}"


def places() -> Iterator[str]:
    """What autocast does on the devices that are here, and the published row."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    rows = [
        ("seen", dtypes_by_place(dtype, device=device))
        for device in devices
        for dtype in (None, torch.float16, torch.bfloat16)
    ]
    heads = ("", *(field.name for field in fields(DtypesByPlace)))
    for cells in (
        heads,
        *((source, *astuple(row)) for source, row in [*rows, ("published", PUBLISHED_PLACES)]),
    ):
        yield "  ".join(f"{cell:<11}" for cell in cells).rstrip()


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in [*sums(), "", *places()])
