"""The state of GPUs, from answers in the form that nvidia-smi and NVML give; their contents are made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepmark.instruments.gpu_state import Ask, from_nvml, from_smi, gpu_cards
from stepmark.records.machine import GpuCard, GpuProcess

UUID = "GPU-00000000-1111-2222-3333-444444444444"
BUSY = GpuCard(
    name="NVIDIA H200",
    mhz=1980,
    max_mhz=1980,
    celsius=58,
    slowed_by=("power cap", "heat (software)"),
    processes=(GpuProcess(pid=454, name="/opt/py, thon", used_bytes=810 << 20),),
)


def answers(cards: str | None, processes: str | None) -> Ask:
    return lambda query: cards if query.startswith("--query-gpu") else processes


def test_a_busy_card_by_nvidia_smi() -> None:
    ask = answers(
        f"{UUID}, NVIDIA H200, 1980, 1980, 58, 0x0000000000000024\n",
        f"{UUID}, 454, 810, /opt/py, thon\nGPU-other, 9, 1, x\n",
    )
    assert from_smi(ask) == (BUSY,)


def test_an_idle_card_is_slowed_by_nothing() -> None:
    (card,) = from_smi(answers(f"{UUID}, NVIDIA H200, 1980, 1980, 38, 0x0000000000000001\n", "")) or ()
    assert (card.slowed_by, card.processes) == ((), ())


def test_what_a_card_does_not_answer_is_unknown() -> None:
    (card,) = from_smi(answers("GPU-1, Old, [N/A], [N/A], [N/A], [N/A]\nnonsense\n", None)) or ()
    assert card == GpuCard(name="Old")


def test_a_program_that_fails() -> None:
    assert from_smi(lambda _: None) is None


class NVMLError(Exception):
    pass


class Nvml:
    """The part of pynvml that is asked."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

    def __init__(self, *, broken: str = "") -> None:
        self._broken = broken
        self.shut_down = False

    def __getattribute__(self, name: str) -> object:
        if name.startswith("nvml") and name == self._broken:
            return self._fail
        return super().__getattribute__(name)

    def _fail(self, *_: object) -> None:
        raise NVMLError

    def nvmlInit(self) -> None: ...  # noqa: N802

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.shut_down = True

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, _: int) -> str:  # noqa: N802
        return "handle"

    def nvmlDeviceGetName(self, _: str) -> bytes:  # noqa: N802
        return b"NVIDIA H200"

    def nvmlDeviceGetClockInfo(self, _: str, _kind: int) -> int:  # noqa: N802
        return 1980

    nvmlDeviceGetMaxClockInfo = nvmlDeviceGetClockInfo  # noqa: N815

    def nvmlDeviceGetTemperature(self, _: str, _kind: int) -> int:  # noqa: N802
        return 58

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _: str) -> int:  # noqa: N802
        return 0x24

    def nvmlDeviceGetComputeRunningProcesses(self, _: str) -> list[SimpleNamespace]:  # noqa: N802
        return [SimpleNamespace(pid=454, usedGpuMemory=810 << 20)]

    def nvmlSystemGetProcessName(self, _: int) -> str:  # noqa: N802
        return "/opt/py, thon"


def test_a_busy_card_by_nvml() -> None:
    nvml = Nvml()
    assert from_nvml(nvml) == (BUSY,)
    assert nvml.shut_down


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ("nvmlInit", ()),
        ("nvmlDeviceGetCount", None),
        ("nvmlDeviceGetTemperature", "a card"),
        ("nvmlSystemGetProcessName", "a card"),
    ],
)
def test_questions_that_fail(broken: str, expected: object) -> None:
    seen = from_nvml(Nvml(broken=broken))
    if expected != "a card":
        assert seen == expected
    else:
        assert seen is not None
        assert seen[0].mhz == 1980


def test_this_machine_answers() -> None:
    cards = gpu_cards()
    assert cards is None or all(card.name for card in cards)
