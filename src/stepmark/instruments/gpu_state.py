"""The state of NVIDIA GPUs: clocks, what holds them down, and who computes on them.

Through NVML where its Python binding (nvidia-ml-py) is installed, else by the program nvidia-smi, which asks
the same library. Reasons for a low clock are bits; their meaning is from the NVML reference,
"NvmlClocksEventReasons".
"""

from __future__ import annotations

import importlib
import shutil
from typing import Any

from stepmark.instruments.card import NvmlCard
from stepmark.instruments.nvidia_smi import (
    Ask,
    ask_smi,
    bytes_of,
    fields_of,
    known,
    number_of,
    switch_of,
    text_of,
)
from stepmark.records.card import CardFacts, reasons_named
from stepmark.records.machine import GpuCard, GpuProcess

_CARD_FIELDS = (
    "uuid,name,clocks.sm,clocks.max.sm,temperature.gpu,clocks_throttle_reasons.active,clocks.mem,power.draw,"
    "driver_version,memory.total,ecc.mode.current,power.limit,clocks.max.mem"
)
_PROCESS_FIELDS = "gpu_uuid,pid,used_memory,process_name"


def gpu_cards() -> tuple[GpuCard, ...] | None:
    """Every card; none where there is neither NVML nor nvidia-smi, None where they are there and fail."""
    try:
        return from_nvml(importlib.import_module("pynvml"))
    except ImportError:
        return from_smi(ask_smi) if shutil.which("nvidia-smi") else ()


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
    card = NvmlCard(nvml, handle)
    facts, seen, processes = card.facts(), card.look(), card.processes()
    return GpuCard(
        name=facts.name,
        mhz=seen.megahertz,
        max_mhz=facts.max_megahertz,
        celsius=seen.celsius,
        slowed_by=_slowed_by(card.reasons()),
        processes=None if processes is None else tuple(_nvml_process(nvml, process) for process in processes),
        memory_mhz=seen.memory_megahertz,
        watts=seen.watts,
        facts=facts,
    )


def _nvml_process(nvml: Any, process: Any) -> GpuProcess:
    try:
        name = text_of(nvml.nvmlSystemGetProcessName(process.pid))
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
        fields = fields_of(line, _CARD_FIELDS)
        if fields is not None:
            found.append(_smi_card(fields, processes))
    return tuple(found)


def _smi_card(fields: list[str], processes: str | None) -> GpuCard:
    uuid, name, mhz, max_mhz, celsius, reasons, memory_mhz, watts, *rest = fields
    driver, memory, ecc, limit, max_memory_mhz = rest
    return GpuCard(
        name=name,
        mhz=number_of(mhz, float),
        max_mhz=number_of(max_mhz, float),
        celsius=number_of(celsius, float),
        slowed_by=_slowed_by(number_of(reasons, lambda text: int(text, 16))),
        processes=None if processes is None else _smi_processes(processes, uuid),
        memory_mhz=number_of(memory_mhz, float),
        watts=number_of(watts, float),
        facts=CardFacts(
            name=name,
            uuid=known(uuid),
            driver=known(driver),
            memory_bytes=bytes_of(memory),
            ecc=switch_of(ecc),
            power_limit_watts=number_of(limit, float),
            max_megahertz=number_of(max_mhz, float),
            max_memory_megahertz=number_of(max_memory_mhz, float),
        ),
    )


def _smi_processes(lines: str, uuid: str) -> tuple[GpuProcess, ...]:
    found = []
    for line in lines.splitlines():
        fields = fields_of(line, _PROCESS_FIELDS)
        if fields is not None and fields[0] == uuid and fields[1].isdigit():
            used = bytes_of(fields[2])
            found.append(GpuProcess(pid=int(fields[1]), name=fields[3], used_bytes=used))
    return tuple(found)


def _slowed_by(reasons: int | None) -> tuple[str, ...] | None:
    return None if reasons is None else reasons_named(reasons)
