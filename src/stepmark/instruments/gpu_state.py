"""The state of NVIDIA GPUs: clocks, what holds them down, and who computes on them.

Through NVML where its Python binding (nvidia-ml-py) is installed, else by the program nvidia-smi, which asks
the same library. Reasons for a low clock are bits; their meaning is from the NVML reference,
"NvmlClocksEventReasons".
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from stepmark.records.machine import GpuCard, GpuProcess

T = TypeVar("T")

SLOWED_BY = {
    0x02: "clocks set by an application",
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "synchronised boost",
    0x20: "heat (software)",
    0x40: "heat (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Bit 0x01, idle, is left out: a card that rests clocks down."""
_CARD_FIELDS = "uuid,name,clocks.sm,clocks.max.sm,temperature.gpu,clocks_throttle_reasons.active"
_CLOCK_FIELDS = "clocks.sm,clocks_throttle_reasons.active"
_PROCESS_FIELDS = "gpu_uuid,pid,used_memory,process_name"
_STRAIN = 0x04 | 0x08 | 0x20 | 0x40 | 0x80
"""Reasons that come with work, not with settings: power, heat, and the hardware's own."""
Ask = Callable[[str], str | None]
"""Passes one query to nvidia-smi and returns its comma-separated lines; None where it failed."""


class GpuClock(NamedTuple):
    """A card's pace at one moment."""

    mhz: float | None
    strained_by: tuple[str, ...]
    """Power, heat, or the hardware itself; not settings, which are the user's."""


def gpu_cards() -> tuple[GpuCard, ...] | None:
    """Every card; none where there is neither NVML nor nvidia-smi, None where they are there and fail."""
    try:
        return from_nvml(importlib.import_module("pynvml"))
    except ImportError:
        return from_smi(_ask_smi) if shutil.which("nvidia-smi") else ()


def from_nvml(nvml: Any) -> tuple[GpuCard, ...] | None:
    """`nvml` is the module pynvml."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        # Without a driver there is no card to speak of.
        return ()
    try:
        return tuple(
            _nvml_card(nvml, nvml.nvmlDeviceGetHandleByIndex(n)) for n in range(nvml.nvmlDeviceGetCount())
        )
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()


def _nvml_card(nvml: Any, handle: Any) -> GpuCard:
    def ask(verb: str, *arguments: Any) -> Any:
        """A card, or a driver, need not know every question."""
        try:
            return getattr(nvml, verb)(handle, *arguments)
        except (nvml.NVMLError, AttributeError):
            return None

    reasons = ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    processes = ask("nvmlDeviceGetComputeRunningProcesses")
    return GpuCard(
        name=_text(ask("nvmlDeviceGetName")),
        mhz=ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
        max_mhz=ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
        celsius=ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
        slowed_by=_slowed_by(reasons),
        processes=None if processes is None else tuple(_nvml_process(nvml, process) for process in processes),
    )


def gpu_clock(index: int) -> GpuClock | None:
    """Of the card that torch counts as `index`; None where it cannot be asked."""
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    name = visible[index] if index < len(visible) else str(index)
    try:
        return clock_from_nvml(importlib.import_module("pynvml"), name)
    except ImportError:
        return clock_from_smi(_ask_smi, name) if shutil.which("nvidia-smi") else None


def clock_from_nvml(nvml: Any, name: str) -> GpuClock | None:
    """`name` is a number or begins a UUID."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    try:
        if name.isdigit():
            handle = nvml.nvmlDeviceGetHandleByIndex(int(name))
        else:
            handle = nvml.nvmlDeviceGetHandleByUUID(name)
        return GpuClock(
            mhz=float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            strained_by=_strained_by(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
        )
    except (nvml.NVMLError, AttributeError):
        return None
    finally:
        nvml.nvmlShutdown()


def clock_from_smi(ask: Ask, name: str) -> GpuClock | None:
    lines = ask(f"--id={name} --query-gpu={_CLOCK_FIELDS}")
    fields = _fields(lines, _CLOCK_FIELDS) if lines else None
    if fields is None:
        return None
    reasons = _number(fields[1], lambda text: int(text, 16))
    return GpuClock(mhz=_number(fields[0], float), strained_by=_strained_by(reasons))


def _nvml_process(nvml: Any, process: Any) -> GpuProcess:
    try:
        name = _text(nvml.nvmlSystemGetProcessName(process.pid))
    except nvml.NVMLError:
        name = ""
    return GpuProcess(pid=process.pid, name=name, used_bytes=process.usedGpuMemory)


def from_smi(ask: Ask) -> tuple[GpuCard, ...] | None:
    cards = ask(f"--query-gpu={_CARD_FIELDS}")
    if cards is None:
        return None
    processes = ask(f"--query-compute-apps={_PROCESS_FIELDS}")
    found = []
    for line in cards.splitlines():
        fields = _fields(line, _CARD_FIELDS)
        if fields is not None:
            uuid, name, mhz, max_mhz, celsius, reasons = fields
            found.append(
                GpuCard(
                    name=name,
                    mhz=_number(mhz, float),
                    max_mhz=_number(max_mhz, float),
                    celsius=_number(celsius, float),
                    slowed_by=_slowed_by(_number(reasons, lambda text: int(text, 16))),
                    processes=None if processes is None else _smi_processes(processes, uuid),
                )
            )
    return tuple(found)


def _smi_processes(lines: str, uuid: str) -> tuple[GpuProcess, ...]:
    found = []
    for line in lines.splitlines():
        fields = _fields(line, _PROCESS_FIELDS)
        if fields is not None and fields[0] == uuid and fields[1].isdigit():
            mebibytes = _number(fields[2], int)
            used = None if mebibytes is None else mebibytes << 20
            found.append(GpuProcess(pid=int(fields[1]), name=fields[3], used_bytes=used))
    return tuple(found)


def _ask_smi(query: str) -> str | None:
    try:
        done = subprocess.run(
            ["nvidia-smi", *query.split(), "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _fields(line: str, wanted: str) -> list[str] | None:
    """As many as were asked for; the last may hold commas itself."""
    names = wanted.split(",")
    fields = [field.strip() for field in line.split(",", len(names) - 1)]
    return fields if len(fields) == len(names) else None


def _number(text: str, read: Callable[[str], T]) -> T | None:
    """None of `[N/A]`."""
    try:
        return read(text)
    except ValueError:
        return None


def _slowed_by(reasons: int | None) -> tuple[str, ...] | None:
    return None if reasons is None else tuple(name for bit, name in SLOWED_BY.items() if reasons & bit)


def _strained_by(reasons: int | None) -> tuple[str, ...]:
    return _slowed_by(None if reasons is None else reasons & _STRAIN) or ()


def _text(name: str | bytes | None) -> str:
    """Older bindings answer in bytes."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name or ""
