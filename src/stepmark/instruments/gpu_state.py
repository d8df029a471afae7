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
    CARD_FIELDS,
    Ask,
    CardAnswer,
    ask_smi,
    bytes_of,
    card_answer,
    fields_of,
    text_of,
)
from stepmark.records.card import reasons_named
from stepmark.records.machine import GpuCard, GpuProcess

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
    cards = ask(f"--query-gpu={CARD_FIELDS}")
    if cards is None:
        return None
    processes = ask(f"--query-compute-apps={_PROCESS_FIELDS}")
    answers = [card_answer(line) for line in cards.splitlines()]
    return tuple(_smi_card(answer, processes) for answer in answers if answer is not None)


def _smi_card(answer: CardAnswer, processes: str | None) -> GpuCard:
    seen, facts = answer.reading, answer.facts
    return GpuCard(
        name=facts.name,
        mhz=seen.megahertz,
        max_mhz=facts.max_megahertz,
        celsius=seen.celsius,
        slowed_by=_slowed_by(answer.reasons),
        processes=None if processes is None else _smi_processes(processes, facts.uuid or ""),
        memory_mhz=seen.memory_megahertz,
        watts=seen.watts,
        facts=facts,
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
