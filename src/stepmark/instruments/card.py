"""A card that is kept open: its readings around blocks, without opening the driver's library each time.

Timing model
------------
A glance asks NVML three questions (on an H200 a test holds it below 2 ms), a look six: outside every clock,
when the card has just been at work. A glance is taken at most 24 times in a lane's share of a launch
(measure/watch.py), at the same moments for all lanes; `python -m benchmarks.h200.card` measures what it
costs. Nothing is ever set. Where only the program nvidia-smi is there, which is a process for each question,
there are looks and no glances.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from stepmark.instruments.nvidia_smi import CARD_FIELDS, Ask, CardAnswer, ask_smi, card_answer, text_of
from stepmark.records.card import STRAIN, CardFacts, CardReading


class NvmlCard:
    """One card through NVML, from its making to the process's end."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def glance(self) -> CardReading:
        """Clock, power and what holds the clock down."""
        nvml = self._nvml
        milliwatts = self._ask("nvmlDeviceGetPowerUsage")
        return CardReading(
            megahertz=self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            watts=None if milliwatts is None else milliwatts * 1e-3,
            reasons=(self.reasons() or 0) & STRAIN,
        )

    def reasons(self) -> int | None:
        """All bits, settings and idleness too."""
        bits: int | None = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return bits

    def processes(self) -> list[Any] | None:
        """That compute on it, as NVML describes them."""
        found: list[Any] | None = self._ask("nvmlDeviceGetComputeRunningProcesses")
        return found

    def look(self) -> CardReading:
        """Everything."""
        nvml, seen = self._nvml, self.glance()
        processes = self.processes()
        return CardReading(
            megahertz=seen.megahertz,
            memory_megahertz=self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            watts=seen.watts,
            celsius=self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            reasons=seen.reasons,
            processes=None if processes is None else len(processes),
        )

    def facts(self) -> CardFacts:
        nvml = self._nvml
        memory, ecc = self._ask("nvmlDeviceGetMemoryInfo"), self._ask("nvmlDeviceGetEccMode")
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        try:
            driver: str | None = text_of(nvml.nvmlSystemGetDriverVersion())
        except (nvml.NVMLError, AttributeError):
            driver = None
        return CardFacts(
            name=text_of(self._ask("nvmlDeviceGetName")),
            uuid=text_of(self._ask("nvmlDeviceGetUUID")) or None,
            driver=driver,
            memory_bytes=None if memory is None else int(memory.total),
            ecc=None if ecc is None else bool(ecc[0]),
            power_limit_watts=None if limit is None else limit * 1e-3,
            max_megahertz=self._ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
            max_memory_megahertz=self._ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_MEM),
        )

    def _ask(self, verb: str, *arguments: Any) -> Any:
        """A card, or a driver, need not know every question."""
        try:
            return getattr(self._nvml, verb)(self._handle, *arguments)
        except (self._nvml.NVMLError, AttributeError):
            return None


class SmiCard:
    """One card through the program nvidia-smi."""

    def __init__(self, ask: Ask, name: str) -> None:
        self._ask, self._name = ask, name

    glance: Callable[[], CardReading] | None = None

    def look(self) -> CardReading | None:
        answer = self._answer()
        return None if answer is None else answer.reading

    def facts(self) -> CardFacts | None:
        answer = self._answer()
        return None if answer is None else answer.facts

    def _answer(self) -> CardAnswer | None:
        lines = self._ask(f"--id={self._name} --query-gpu={CARD_FIELDS}")
        return card_answer(lines) if lines else None


Card = NvmlCard | SmiCard


def open_card(device: str) -> Card | None:
    """The card that torch calls by this name: `cuda`, `cuda:1`; None where it cannot be asked, or nobody can
    tell which one that is."""
    index = int(device.partition(":")[2] or 0)
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    name = visible[index] if index < len(visible) else str(index)
    try:
        return nvml_card(importlib.import_module("pynvml"), name)
    except ImportError:
        return smi_card(ask_smi, name) if shutil.which("nvidia-smi") else None


def smi_card(ask: Ask, name: str) -> SmiCard | None:
    kinds = (ask("--query-gpu=name") or "").splitlines()
    return SmiCard(ask, name) if _is_told_apart(name, kinds) else None


def nvml_card(nvml: Any, name: str) -> NvmlCard | None:
    """`nvml` is the module pynvml, `name` a number or the beginning of a UUID."""
    try:
        nvml.nvmlInit()
        if not name.isdigit():
            return NvmlCard(nvml, nvml.nvmlDeviceGetHandleByUUID(name))
        each = [nvml.nvmlDeviceGetHandleByIndex(n) for n in range(nvml.nvmlDeviceGetCount())]
        kinds = [text_of(nvml.nvmlDeviceGetName(handle)) for handle in each]
        index = int(name)
        return NvmlCard(nvml, each[index]) if index < len(each) and _is_told_apart(name, kinds) else None
    except nvml.NVMLError:
        return None


def _is_told_apart(name: str, kinds: Sequence[str]) -> bool:
    """Whether a number means the same card to CUDA and to the driver, which counts along the bus. CUDA counts
    from the fastest card on unless it is told not to: cards of one kind keep their order."""
    by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    return by_bus or not name.isdigit() or len(set(kinds)) <= 1
