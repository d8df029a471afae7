"""A chain's launches: every kernel is given what its parameters are called, by tensors and by addresses."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepmark.zoo.kernels import fragmented, fragmented_chain
from stepmark.zoo.kernels.fragmented_chain import Chain, Places, launchers
from stepmark.zoo.kernels.fragmented_sizes import Sizes, sizes_of
from tests.zoo.kernels.fragmented_cases import draw

SIZES = {
    "one row": Sizes(1, 8, 32, 48, 16, torch.bfloat16, has_bias=True),
    "few rows": Sizes(8, 8, 32, 48, 16, torch.bfloat16, has_bias=True),
}
CHAINS = [
    (kind, name)
    for kind, sizes in SIZES.items()
    for name, plan in fragmented.candidates(sizes).items()
    if isinstance(plan, Chain)
]
SCRATCH = 4096
ADDRESSES = {
    "x": 16,
    "selector": 32,
    "weight": 48,
    "compressor": 64,
    "decompressor": 80,
    "bias": 96,
    "y": 112,
}


class Remembered:
    """In the place of a kernel that was launched before."""

    def __init__(self, name: str, calls: list[tuple[str, tuple[Any, ...]]]) -> None:
        self._name, self._calls = name, calls

    def in_stream(self, stream: int) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
        return self._launch, ("grid", stream), ("constants",)

    def _launch(self, *given: Any) -> None:
        assert given[:2] == ("grid", 7)
        assert given[-1] == "constants"
        self._calls.append((self._name, given[2:-1]))


def chain(kind: str, name: str) -> Chain:
    plan = fragmented.candidates(SIZES[kind])[name]
    assert isinstance(plan, Chain)
    return plan


@pytest.mark.parametrize(("kind", "name"), CHAINS)
def test_by_addresses_each_kernel_is_given_its_own(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = chain(kind, name)
    asked: list[int] = []

    def scratch_address(number: int, device: int, stream: int) -> int:
        assert (device, stream) == (0, 7)
        asked.append(number)
        return SCRATCH

    monkeypatch.setattr(fragmented_chain, "scratch_address", scratch_address)
    calls: list[tuple[str, tuple[Any, ...]]] = []
    bound = tuple(Remembered(kernel.name, calls) for kernel in plan.plain)
    plan._filled_in(bound, 0, 7)(*ADDRESSES.values())  # type: ignore[arg-type]
    assert [one for one, _ in calls] == [kernel.name for kernel in plan.plain]
    sizes = SIZES[kind]
    own = {"scratch": SCRATCH, "rows": sizes.rows, "x_stride": sizes.features}
    handed = any(kernel.name == "choose_rows" for kernel in plan.plain)
    for kernel, (_, given) in zip(plan.plain, calls, strict=True):
        names = [one for one in launchers()[kernel.name].function.arg_names if one not in kernel.options]
        for one, value in zip(names, given, strict=True):
            if one in ("hidden", "chosen"):
                assert (value is not None) is handed
            else:
                assert value == (ADDRESSES | own)[one], (kernel.name, one)
        places = dict(zip(names, given, strict=True))
        if handed and "hidden" in places:
            end = SCRATCH + 4 * asked[0]
            assert SCRATCH + 4 * plan.number <= places["hidden"] < places["chosen"] <= end - 4 * sizes.rows
            assert places["hidden"] % 16 == places["chosen"] % 16 == 0


@pytest.mark.parametrize(("kind", "name"), CHAINS)
def test_what_nobody_asked_for_takes_no_memory(kind: str, name: str) -> None:
    plan = chain(kind, name)
    steps = plan.steps(keep=False)
    assert plan.steps(keep=False) is steps
    x, parameters = draw((SIZES[kind].rows, 8, 32, 48, 16), torch.bfloat16, "cpu")
    assert sizes_of(x, parameters) == SIZES[kind]
    places = plan._places(x, parameters, 256, steps)
    assert (places.hidden is None) is not any(kernel.name == "choose_rows" for kernel in plan.plain)
    kept = plan._places(x, parameters, 256, plan.steps(keep=True))
    assert kept.hidden.shape == (SIZES[kind].rows, 16)
    assert kept.chosen.shape == (SIZES[kind].rows,)


def test_places_come_in_the_order_in_which_a_call_gives_them() -> None:
    assert Places._fields[: len(ADDRESSES)] == tuple(ADDRESSES)
