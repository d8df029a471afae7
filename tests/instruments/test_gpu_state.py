"""The state of GPUs, from answers in the form that nvidia-smi and NVML give; their contents are made up."""

from __future__ import annotations

import pytest

from stepmark.instruments.gpu_state import from_nvml, from_smi, gpu_cards
from stepmark.instruments.nvidia_smi import Ask
from stepmark.records.card import CardFacts
from stepmark.records.machine import GpuCard, GpuProcess
from tests.instruments.fake_nvml import UUID, Nvml

FACTS = f"{UUID}, 570.1, 143360, Enabled, 700.00, 1980, 3201, NVIDIA H200"
BUSY = GpuCard(
    name="NVIDIA H200",
    mhz=1980,
    max_mhz=1980,
    celsius=58,
    slowed_by=("power cap", "heat (software)"),
    processes=(GpuProcess(pid=454, name="/opt/py, thon", used_bytes=810 << 20),),
    memory_mhz=3201,
    watts=412.5,
    facts=CardFacts(
        name="NVIDIA H200",
        uuid=UUID,
        driver="570.1",
        memory_bytes=140 << 30,
        ecc=True,
        power_limit_watts=700.0,
        max_megahertz=1980,
        max_memory_megahertz=3201,
    ),
)


def answers(cards: str | None, processes: str | None) -> Ask:
    return lambda query: cards if query.startswith("--query-gpu") else processes


def test_a_busy_card_by_nvidia_smi() -> None:
    ask = answers(
        f"1980, 3201, 412.5, 58, 0x0000000000000024, {FACTS}\n",
        f"{UUID}, 454, 810, /opt/py, thon\nGPU-other, 9, 1, x\n",
    )
    assert from_smi(ask) == (BUSY,)


def test_an_idle_card_is_slowed_by_nothing() -> None:
    (card,) = from_smi(answers(f"1980, 3201, 412.5, 38, 0x0000000000000001, {FACTS}\n", "")) or ()
    assert (card.slowed_by, card.processes) == ((), ())


def test_what_a_card_does_not_answer_is_unknown() -> None:
    (card,) = from_smi(answers(f"{'[N/A], ' * 5}GPU-1, {'[N/A], ' * 6}Old\nnonsense\n", None)) or ()
    assert card == GpuCard(name="Old", facts=CardFacts(name="Old", uuid="GPU-1"))


def test_a_program_that_fails() -> None:
    assert from_smi(lambda _: None) is None


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
