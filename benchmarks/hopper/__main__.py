"""Registers, spills, shared memory, barriers, shuffles and waits of the zoo's kernels on Hopper, with no GPU.

python -m benchmarks.hopper [FAMILY ...] [--first]     families: norms, softmax, quantisers, products, ...
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice

from benchmarks.hopper.compiler import Compiled, compiling
from benchmarks.hopper.families import FAMILIES


def compiled_families(names: list[str], most: int | None = None) -> Iterator[tuple[str, Compiled]]:
    """What each call compiles that none before it did; `most` calls of a family."""
    with compiling() as compiler:
        for family in names:
            for name, call in islice(FAMILIES[family](), most):
                before = set(compiler.found)
                call()
                yield from ((name, one) for key, one in compiler.found.items() if key not in before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--first", action="store_true", help="the first call of each family alone")
    told = parser.parse_args()
    if unknown := {*told.families} - {*FAMILIES}:
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    print(f"{'call':64} {'kernel':24} registers  spilled  shared  barriers  shuffles  waits")
    for name, one in compiled_families(told.families or list(FAMILIES), 1 if told.first else None):
        numbers = f"{one.registers:9} {one.spilled:8} {one.shared:7} {one.barriers:9} {one.shuffles:9}"
        numbers += f" {'-' if one.waits is None else one.waits:>6}"
        print(f"{name:64} {one.kernel:24} {numbers}", flush=True)


if __name__ == "__main__":
    main()
