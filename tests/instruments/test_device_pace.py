"""The pace of a device: a processor's fastest core, a card's clock and what strains it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepmark.instruments import device_pace
from stepmark.instruments.device_pace import gpu_pace, pace_of, processor_pace
from stepmark.instruments.gpu_state import GpuClock, clock_from_nvml, clock_from_smi, gpu_clock
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.measure.protocol import Paced
from tests.instruments.trees import plant

POWER, IDLE, SET_BY_USER, HEAT = 0x04, 0x01, 0x02, 0x20


def test_the_fastest_core(tmp_path: Path) -> None:
    cores = {f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq": f"{n + 1}000000" for n in range(3)}
    assert processor_pace(plant(tmp_path, cores)) == Paced(megahertz=3000.0)
    assert processor_pace(PseudoFiles(tmp_path / "nothing")) == Paced()


def test_every_device_has_a_pace() -> None:
    assert isinstance(pace_of("cpu")(), Paced)
    assert isinstance(pace_of("cuda:7")(), Paced), "also where there is none"


def test_the_card_that_torch_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def clock(index: int) -> GpuClock | None:
        asked.append(index)
        return GpuClock(mhz=1980.0, strained_by=("power cap",)) if index else None

    monkeypatch.setattr(device_pace, "gpu_clock", clock)
    assert gpu_pace("cuda") == Paced()
    assert gpu_pace("cuda:3") == Paced(megahertz=1980.0, slowed_by=("power cap",))
    assert asked == [0, 3]


def nvml(reasons: int, *, clock: int = 1980) -> Any:
    """pynvml with two cards, of which one has a UUID that is known."""

    class Trouble(Exception):
        pass

    def by_index(index: int) -> int:
        if index > 1:
            raise Trouble
        return index

    return SimpleNamespace(
        NVMLError=Trouble,
        NVML_CLOCK_SM=1,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByIndex=by_index,
        nvmlDeviceGetHandleByUUID=lambda name: {"GPU-1": 1}[name],
        nvmlDeviceGetClockInfo=lambda handle, kind: clock + handle,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: reasons,
    )


@pytest.mark.parametrize(
    ("reasons", "strained_by"),
    [
        (0, ()),
        (IDLE, ()),
        (SET_BY_USER, ()),
        (IDLE | POWER, ("power cap",)),
        (HEAT | SET_BY_USER, ("heat (software)",)),
    ],
)
def test_strain_is_power_and_heat_not_settings(reasons: int, strained_by: tuple[str, ...]) -> None:
    assert clock_from_nvml(nvml(reasons), "0") == GpuClock(mhz=1980.0, strained_by=strained_by)
    lines = f"1980, 0x{reasons:016x}"
    assert clock_from_smi(lambda _: lines, "0") == GpuClock(mhz=1980.0, strained_by=strained_by)


def test_a_card_by_its_uuid_and_one_that_is_not_there() -> None:
    assert clock_from_nvml(nvml(0), "GPU-1") == GpuClock(mhz=1981.0, strained_by=())
    assert clock_from_nvml(nvml(0), "5") is None


@pytest.mark.parametrize("lines", [None, "", "what?", "[N/A], [N/A]"])
def test_a_program_that_does_not_answer(lines: str | None) -> None:
    clock = clock_from_smi(lambda _: lines, "0")
    assert clock is None or clock == GpuClock(mhz=None, strained_by=())


def test_visible_cards_are_counted_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("stepmark.instruments.gpu_state.clock_from_nvml", lambda _, name: asked.append(name))
    monkeypatch.setattr("importlib.import_module", lambda name: SimpleNamespace(name=name))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-1")
    gpu_clock(0)
    gpu_clock(1)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    gpu_clock(1)
    assert asked == ["3", "GPU-1", "1"]
