"""The table of choices: what several runs call slower is not chosen, whatever one measurement said."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.h200.choices import lora_names, names_known, overruled
from stepmark.zoo.kernels.lora_sizes import Sizes
from stepmark.zoo.kernels.lora_ways import BACKWARD, FORWARD, backward_ways, forward_ways
from stepmark.zoo.kernels.switchback_choice import OPERATION as SWITCHBACK

SHAPE = [1024, 512, 2048]
KEY = "1024,2048,512,float16"


def timed(vector: float, auto: float, chose: str = "int8", fp8: float = 1.0) -> dict[str, Any]:
    speeds = {"vector": vector, "auto vector": auto, "fp8": fp8, "auto any": auto}
    return {"shape": SHAPE, "us": {}, "speed-up": speeds, "auto chose": {"vector": chose, "any": chose}}


@pytest.mark.parametrize(
    ("runs", "graph"),
    [
        ([timed(0.9, 0.95)], "16-bit"),
        ([timed(1.1, 1.05)], "int8"),
        ([timed(0.9, 0.95), timed(1.3, 1.2)], "int8"),
        ([timed(0.9, 0.8), timed(1.05, 1.1)], "16-bit"),
        ([timed(1.1, 0.5, chose="16-bit")], "int8"),
        ([], "int8"),
    ],
)
def test_all_runs_of_a_shape_together_decide(runs: list[dict[str, Any]], graph: str) -> None:
    name = f"{SWITCHBACK}|{KEY},110-int800"
    assert overruled(name, ["16-bit", "int8"], runs) == ["16-bit", graph]


def test_a_short_call_that_was_timed_from_python_says_nothing() -> None:
    shape, name = [8192, 5120, 1280], f"{SWITCHBACK}|8192,1280,5120,float16,110-int800"
    short, long = (timed(0.8, 0.8) | {"shape": shape, "us": {"16-bit": us}} for us in (436.0, 4360.0))
    assert overruled(name, ["int8", "int8"], [short]) == ["int8", "int8"]
    assert overruled(name, ["int8", "int8"], [short, long]) == ["int8", "16-bit"]
    assert overruled(name, ["int8", "int8"], [short | {"timed": "graph"}]) == ["int8", "16-bit"]


def test_a_layer_that_may_take_either_is_held_against_what_it_took() -> None:
    name = f"{SWITCHBACK}|{KEY},110-int800-fp800"
    slow_fp8 = [timed(1.3, 0.9, chose="fp8", fp8=0.9)]
    assert overruled(name, ["fp8", "fp8"], slow_fp8) == ["fp8", "16-bit"]
    assert overruled(name, ["int8", "int8"], slow_fp8) == ["int8", "int8"]


@pytest.mark.parametrize(
    "name",
    [
        "few-rows-product/1|1,2048,2048,added",
        f"{SWITCHBACK}|{KEY},100-int800",
        f"{SWITCHBACK}|8,2048,512,float16,110-int800",
    ],
)
def test_what_was_not_timed_stays(name: str) -> None:
    assert overruled(name, ["int8", "int8"], [timed(0.5, 0.5)]) == ["int8", "int8"]


@pytest.mark.parametrize("rows", [1, 64, 700, 4096])
@pytest.mark.parametrize("precision", ["bf16", "ieee"])
def test_every_way_that_a_lora_layer_can_choose_is_known(
    rows: int, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepmark.zoo.kernels.lora_ways._has_descriptors", lambda: True)
    sizes = Sizes((rows,), 1024, 2048, 8, precision, has_weight=True, has_bias=True)
    ways = {*forward_ways(sizes)} | {
        *backward_ways(sizes, needs_dx=True),
        *backward_ways(sizes, needs_dx=False),
    }
    assert ways <= lora_names()
    assert lora_names() == names_known(f"{FORWARD}|...") == names_known(f"{BACKWARD}|...")
