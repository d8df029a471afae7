"""A card that is kept open: readings, facts, and what cannot be asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepmark.instruments import card as cards
from stepmark.instruments.card import NvmlCard, SmiCard, nvml_card, open_card, smi_card
from stepmark.records.card import CardReading
from tests.instruments.fake_nvml import UUID, Nvml

IDLE, SET_BY_USER, POWER, HEAT = 0x01, 0x02, 0x04, 0x20
LINE = f"1980, 3201, 412.50, 58, 0x0000000000000024, {UUID}, 570.1, 143360, Enabled, 700.00, 1980, 3201, H200"


def opened(nvml: Nvml) -> NvmlCard:
    card = nvml_card(nvml, "0")
    assert card is not None
    return card


def test_a_look_has_everything() -> None:
    assert opened(Nvml()).look() == CardReading(
        megahertz=1980, memory_megahertz=3201, watts=412.5, celsius=58, reasons=0x24, processes=1
    )


def test_a_glance_asks_three_questions() -> None:
    nvml = Nvml()
    card = opened(nvml)
    nvml.asked.clear()
    assert card.glance() == CardReading(megahertz=1980, watts=412.5, reasons=0x24)
    assert len(nvml.asked) == 3


@pytest.mark.parametrize(
    ("reasons", "strain"),
    [(0, 0), (IDLE, 0), (SET_BY_USER, 0), (IDLE | POWER, POWER), (HEAT | SET_BY_USER, HEAT)],
)
def test_strain_is_power_and_heat_not_settings(reasons: int, strain: int) -> None:
    card = opened(Nvml(reasons=reasons))
    assert (card.glance().reasons, card.look().reasons) == (strain, strain)
    assert card.reasons() == reasons


@pytest.mark.parametrize(
    "broken",
    ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo", "nvmlDeviceGetCurrentClocksThrottleReasons"],
)
def test_what_a_card_does_not_answer_is_unknown(broken: str) -> None:
    seen = opened(Nvml(broken=broken)).look()
    assert seen.celsius == 58
    assert (seen.megahertz is None) == (broken == "nvmlDeviceGetClockInfo")
    assert (seen.watts is None) == (broken == "nvmlDeviceGetPowerUsage")


@pytest.mark.parametrize(
    "broken", ["nvmlSystemGetDriverVersion", "nvmlDeviceGetEccMode", "nvmlDeviceGetUUID"]
)
def test_facts_that_cannot_be_read(broken: str) -> None:
    facts = opened(Nvml(broken=broken)).facts()
    unread = {"driver": facts.driver, "EccMode": facts.ecc, "UUID": facts.uuid}
    assert [name for name, value in unread.items() if value is None] == [
        name for name in unread if name.lower() in broken.lower()
    ]
    assert facts.memory_bytes == 140 << 30


def test_a_card_by_its_uuid_and_one_that_is_not_there() -> None:
    assert nvml_card(Nvml(), UUID[:10]) is not None
    assert nvml_card(Nvml(), "GPU-9") is None
    assert nvml_card(Nvml(), "5") is None
    assert nvml_card(Nvml(broken="nvmlInit"), "0") is None


@pytest.mark.parametrize(
    ("kinds", "order", "is_known"),
    [
        (("H200", "H200"), None, True),
        (("T400", "H200"), None, False),
        (("T400", "H200"), "FASTEST_FIRST", False),
        (("T400", "H200"), "PCI_BUS_ID", True),
    ],
)
def test_a_number_means_one_card_where_cuda_counts_as_the_driver_does(
    kinds: tuple[str, ...], order: str | None, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    if order is not None:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    nvml = Nvml(kinds=tuple(kind.encode() for kind in kinds))
    assert (nvml_card(nvml, "1") is not None) is is_known
    assert (smi_card(lambda _: "\n".join(kinds), "1") is not None) is is_known
    assert nvml_card(nvml, UUID) is not None
    assert smi_card(lambda _: "\n".join(kinds), UUID) is not None


def test_the_same_by_nvidia_smi() -> None:
    card = SmiCard(lambda _: LINE, "0")
    assert card.look() == CardReading(
        megahertz=1980.0, memory_megahertz=3201.0, watts=412.5, celsius=58.0, reasons=0x24
    )
    facts = card.facts()
    assert facts is not None
    assert (facts.uuid, facts.ecc, facts.memory_bytes) == (UUID, True, 140 << 30)


@pytest.mark.parametrize("lines", [None, "", "what?"])
def test_a_program_that_does_not_answer(lines: str | None) -> None:
    card = SmiCard(lambda _: lines, "0")
    assert (card.look(), card.facts()) == (None, None)


def test_visible_cards_are_counted_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(cards, "nvml_card", lambda _, name: asked.append(name))
    monkeypatch.setattr("importlib.import_module", lambda name: SimpleNamespace(name=name))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-1")
    open_card("cuda")
    open_card("cuda:1")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    open_card("cuda:1")
    assert asked == ["3", "GPU-1", "1"]


@pytest.mark.gpu
def test_this_card_answers_and_costs_little() -> None:
    import time

    card = open_card("cuda")
    assert isinstance(card, NvmlCard)
    facts, seen = card.facts(), card.look()
    assert facts.uuid is not None
    assert facts.driver is not None
    assert seen.megahertz is not None
    begin = time.perf_counter()
    for _ in range(50):
        card.glance()
    assert (time.perf_counter() - begin) / 50 < 2e-3
