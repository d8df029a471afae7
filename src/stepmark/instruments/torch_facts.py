"""Facts of torch: version, build, threads and flags, read inside a worker."""

from __future__ import annotations

import re

import torch

from stepmark.errors import UsageError
from stepmark.instruments.card import open_card
from stepmark.instruments.torch_flags import torch_flags
from stepmark.records.card import CardFacts
from stepmark.records.environment import TorchFacts


def torch_facts() -> TorchFacts:
    """What of torch can change a number."""
    num_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return TorchFacts(
        version=str(torch.__version__),
        build=torch.__config__.show().strip(),
        threads=torch.get_num_threads(),
        interop_threads=torch.get_num_interop_threads(),
        flags=tuple(torch_flags().items()),
        devices=tuple(torch.cuda.get_device_name(index) for index in range(num_devices)),
        cards=tuple(facts for index in range(num_devices) if (facts := _card_facts(index)) is not None),
    )


def _card_facts(index: int) -> CardFacts | None:
    card = open_card(f"cuda:{index}")
    return card.facts() if card is not None else None


def resolve_device(choice: str) -> str:
    """`auto` is the accelerator where there is one."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if choice == "auto":
        return "cuda" if count else "cpu"
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", choice)
    if match is None:
        raise UsageError(f"there is no device '{choice}'", remedy="use cpu, cuda, cuda:1 or auto")
    if choice != "cpu" and not count:
        raise UsageError("torch sees no CUDA device here", remedy="use --device cpu, or auto")
    if int(match[1] or 0) >= max(count, 1):
        raise UsageError(f"there is no device '{choice}'", remedy=f"torch sees {count}, counted from 0")
    return choice
