"""Facts of torch, and which device `auto` is."""

from __future__ import annotations

import msgspec
import pytest
import torch

from stepmark.errors import UsageError
from stepmark.instruments.torch_facts import resolve_device, torch_facts
from stepmark.instruments.torch_flags import torch_flags
from stepmark.records.environment import TorchFacts


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """A machine with so many accelerators, as far as torch says."""
    count = int(request.param)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    return count


def test_what_of_torch_can_change_a_number() -> None:
    facts = torch_facts()
    assert facts.version == torch.__version__
    assert facts.threads == torch.get_num_threads()
    assert facts.interop_threads == torch.get_num_interop_threads()
    assert dict(facts.flags) == torch_flags()
    assert "PyTorch built with" in facts.build
    assert msgspec.json.decode(msgspec.json.encode(facts), type=TorchFacts) == facts


@pytest.mark.parametrize("gpus", [0, 2], indirect=True)
def test_accelerators_are_named(gpus: int) -> None:
    assert torch_facts().devices == tuple(f"GPU {index}" for index in range(gpus))


@pytest.mark.parametrize(
    ("gpus", "choice", "device"),
    [
        (0, "auto", "cpu"),
        (0, "cpu", "cpu"),
        (1, "auto", "cuda"),
        (1, "cpu", "cpu"),
        (1, "cuda", "cuda"),
        (2, "cuda:1", "cuda:1"),
    ],
    indirect=["gpus"],
)
@pytest.mark.usefixtures("gpus")
def test_devices_that_are_there(choice: str, device: str) -> None:
    assert resolve_device(choice) == device


@pytest.mark.parametrize("gpus", [0], indirect=True)
@pytest.mark.parametrize("choice", ["cuda", "cuda:0"])
@pytest.mark.usefixtures("gpus")
def test_no_accelerator_here(choice: str) -> None:
    with pytest.raises(UsageError, match="torch sees no CUDA device here") as caught:
        resolve_device(choice)
    assert "--device cpu" in caught.value.remedy


@pytest.mark.parametrize("gpus", [1, 2], indirect=True)
@pytest.mark.parametrize("choice", ["gpu", "cuda:", "cuda:x", "cuda:9", "cuda:-1", "cpu:0", "CUDA", ""])
@pytest.mark.usefixtures("gpus")
def test_no_such_device(choice: str) -> None:
    with pytest.raises(UsageError, match=f"there is no device '{choice}'"):
        resolve_device(choice)
