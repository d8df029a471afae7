"""Command lines for Nsight: the very case that was profiled, run plainly with named ranges.

The capture begins when the case calls cudaProfilerStart, after its warm-up. Its ranges are the process's,
which ncu names without a slash; the ranges of a thread would be named with one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

_WIDTH = 78
_INDENT = "    "


class NsightCommands(NamedTuple):
    """What to type, a line or more each."""

    nsys: tuple[str, ...]
    stats: tuple[str, ...]
    """The ranges and kernels of what nsys wrote, as tables."""
    ncu: tuple[str, ...]


def nsight_commands(
    name: str, run: Sequence[str], *, iterations: int, phases: Sequence[str]
) -> NsightCommands:
    """`run` is the command that runs the case, but for the number of iterations, which comes last."""
    file = "stepmark-" + re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
    nsys = ("nsys", "profile", "--trace=cuda,nvtx", "--capture-range=cudaProfilerApi",
            "--capture-range-end=stop", "--force-overwrite=true", f"--output={file}")  # fmt: skip
    ncu = ("ncu", "--profile-from-start=off", "--nvtx", f"--nvtx-include={phases[0]}", "--set=basic",
           "--force-overwrite", f"--export={file}")  # fmt: skip
    return NsightCommands(
        nsys=shell_lines((*nsys, *run, str(iterations))),
        stats=shell_lines(("nsys", "stats", "--report=nvtx_sum,cuda_gpu_kern_sum", f"{file}.nsys-rep")),
        ncu=shell_lines((*ncu, *run, "1")),
    )


def shell_lines(words: Sequence[str]) -> tuple[str, ...]:
    """Quoted for a shell and broken behind words, so that the lines can be copied together."""
    lines: list[str] = []
    for word in map(shlex.quote, words):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and len(longer) > _WIDTH:
            lines.append(_INDENT + word)
        else:
            lines[-1:] = [longer]
    return tuple(f"{line} \\" for line in lines[:-1]) + tuple(lines[-1:])
