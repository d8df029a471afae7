"""The pace of a device: a processor's fastest core, a card's clock and what strains it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepmark.instruments import device_pace
from stepmark.instruments.card import Card, SmiCard, nvml_card
from stepmark.instruments.device_pace import card_pace, glance_of, pace_of, processor_pace
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.measure.protocol import Paced
from tests.instruments.fake_nvml import Nvml
from tests.instruments.trees import plant


def test_the_fastest_core(tmp_path: Path) -> None:
    cores = {f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq": f"{n + 1}000000" for n in range(3)}
    assert processor_pace(plant(tmp_path, cores)) == Paced(megahertz=3000.0)
    assert processor_pace(PseudoFiles(tmp_path / "nothing")) == Paced()


def test_every_device_has_a_pace() -> None:
    assert isinstance(pace_of("cpu")(), Paced)
    assert isinstance(pace_of("cuda:7")(), Paced), "also where there is none"


def test_a_cards_pace_names_its_strain() -> None:
    card = nvml_card(Nvml(), "0")
    pace = card_pace(card)
    assert (pace.megahertz, pace.slowed_by) == (1980.0, ("power cap", "heat (software)"))
    assert pace.card is not None
    assert pace.card.celsius == 58
    assert card_pace(None) == Paced()


def test_a_card_is_opened_once_for_all_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Nvml(clocks=(1980, 1800, 1755))
    monkeypatch.setattr(device_pace, "_opened", lambda _: nvml_card(nvml, "0"))
    pace, glance = pace_of("cuda"), glance_of("cuda")
    assert glance is not None
    assert [pace().megahertz, glance().megahertz, glance().megahertz] == [1980, 1800, 1755]
    assert nvml.opened == 2, "one of each, and none a reading"


def test_there_are_no_glances_at_a_processor_or_through_a_slow_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert glance_of("cpu") is None
    slow: Card = SmiCard(lambda _: None, "0")
    monkeypatch.setattr(device_pace, "_opened", lambda _: slow)
    assert glance_of("cuda") is None
