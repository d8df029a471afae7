"""A compiler without a device: launches of Triton kernels are compiled for Hopper and not carried out.

The layers' own code runs on the CPU with tensors of the right shapes and dtypes; where it would launch a
kernel, Triton compiles that kernel for the arguments at hand and for compute capability 9.0, with the ptxas
that comes with it. What is not launched leaves its outputs as they were: numbers mean nothing here.
Triton's interpreter must be off: TRITON_INTERPRET is not to be set.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import torch

CAPABILITY = (9, 0)
PROCESSORS = 132
"""Of an H200."""


class Compiled(NamedTuple):
    """One kernel as it would run."""

    kernel: str
    registers: int
    spilled: int
    """Bytes of a thread's stack: registers that did not suffice, or arrays with indices."""
    shared: int
    """Bytes of shared memory, what the launch asks for among them."""
    barriers: int
    """At which all warps of a program wait, as they stand in the code."""
    shuffles: int
    waits: int | None
    """For what the kernel before it writes; None where it begins at that one's end anyway."""


class Compiler:
    """Collects what is compiled while it stands in for launches."""

    def __init__(self) -> None:
        self.found: dict[str, Compiled] = {}

    def launch(self, launcher: Any, grid: tuple[int, int, int], *args: Any, **options: Any) -> None:
        """In the place of Launcher.__call__."""
        options.pop("key", None)
        compiled = launcher.function.warmup(*args, grid=grid, **options)
        if compiled.hash not in self.found:
            self.found[compiled.hash] = looked_at(compiled, dependent=options.get("launch_pdl", False))


@contextlib.contextmanager
def compiling() -> Iterator[Compiler]:
    """Inside, launches are compiled, and the device looks like an H200. Triton keeps that target."""
    if os.environ.get("TRITON_INTERPRET"):
        raise RuntimeError("TRITON_INTERPRET is set: Triton would interpret and not compile")
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    from stepmark.zoo.kernels.launch import Launcher

    target = GPUTarget("cuda", 10 * CAPABILITY[0] + CAPABILITY[1], 32)
    driver.set_active(
        SimpleNamespace(
            get_current_device=lambda: 0,
            get_current_stream=lambda _: 0,
            get_current_target=lambda: target,
            get_device_interface=lambda: torch.cuda,
        )
    )
    compiler = Compiler()

    def launch(launcher: Any, grid: tuple[int, int, int], *args: Any, **options: Any) -> None:
        compiler.launch(launcher, grid, *args, **options)

    card = SimpleNamespace(multi_processor_count=PROCESSORS, major=CAPABILITY[0], minor=CAPABILITY[1])
    with (
        mock.patch.object(Launcher, "__call__", launch),
        mock.patch.object(torch.cuda, "is_available", return_value=True),
        mock.patch.object(torch.cuda, "current_device", return_value=0),
        mock.patch.object(torch.cuda, "get_device_capability", return_value=CAPABILITY),
        mock.patch.object(torch.cuda, "get_device_properties", return_value=card),
    ):
        yield compiler


def looked_at(compiled: Any, *, dependent: bool) -> Compiled:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(compiled.asm["cubin"])
        usage, code = (_told(option, file) for option in ("-res-usage", "-sass"))
    numbers = re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)", usage)
    assert numbers is not None, usage
    registers, stack, shared = map(int, numbers.groups())
    return Compiled(
        kernel=compiled.name,
        registers=registers,
        spilled=stack,
        shared=max(shared, compiled.metadata.shared),
        barriers=len(re.findall(r"\bBAR\.", code)),
        shuffles=len(re.findall(r"\bSHFL\.", code)),
        waits=compiled.asm["ptx"].count("griddepcontrol.wait") if dependent else None,
    )


def _told(option: str, file: Path) -> str:
    """By the tool that comes with Triton."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return subprocess.run([tool, option, file], capture_output=True, text=True, check=True).stdout
