"""Steps and operations as users write them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Ops, Step


def nothing() -> None:
    pass


OPERATIONS = {"quantize": nothing, "matmul": nothing, "dequantize": nothing}


def test_a_step_needs_only_something_to_call() -> None:
    step = Step(nothing)
    assert (step.module, step.inputs, step.target) == (nothing, (), ())
    assert (step.loss, step.optimizer, step.autocast, step.compile) == (None, None, None, False)


def test_all_but_the_module_are_named() -> None:
    with pytest.raises(TypeError, match="positional"):
        Step(nothing, randn(2))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Ops(OPERATIONS, {"all": ("matmul",)})  # type: ignore[call-arg]


def test_totals_are_sums_of_known_operations() -> None:
    ops = Ops(OPERATIONS, totals={"overhead": ["quantize", "dequantize"]}, primary="overhead")
    assert ops.totals["overhead"] == ["quantize", "dequantize"]


def test_no_operations_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one operation"):
        Ops({})


def test_a_total_of_something_unknown_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="total 'all' names unknown operations: norm, add"):
        Ops(OPERATIONS, totals={"all": ["matmul", "norm", "add"]})


def test_a_total_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="total 'all' has no parts"):
        Ops(OPERATIONS, totals={"all": []})


def test_a_name_is_an_operation_or_a_total() -> None:
    with pytest.raises(ValueError, match="'matmul' is both"):
        Ops(OPERATIONS, totals={"matmul": ["quantize"]})


@pytest.mark.parametrize("primary", ["matmul", "all"])
def test_the_primary_is_an_operation_or_a_total(primary: str) -> None:
    assert Ops(OPERATIONS, totals={"all": list(OPERATIONS)}, primary=primary).primary == primary


def test_an_unknown_primary_is_refused() -> None:
    with pytest.raises(ValueError, match="primary 'speed' is neither"):
        Ops(OPERATIONS, primary="speed")


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"module": None}, "a step needs a module or a function: NoneType cannot be called"),
        ({"optimizer": 0.1}, "optimizer=float cannot be called: .* like torch.optim.AdamW"),
        ({"loss": "mse"}, "loss=str cannot be called"),
        ({"reference": 3.0}, "reference=float cannot be called"),
    ],
)
def test_what_is_to_be_called_can_be(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        Step(**{"module": nothing, **parts})


class Layer:
    def __call__(self) -> None: ...


def parts(name: str, given: object) -> dict[str, Any]:
    return {"module": nothing, name: given}


@pytest.mark.parametrize("part", ["module", "loss", "reference"])
def test_a_class_is_no_object_of_it(part: str) -> None:
    with pytest.raises(TypeError, match=rf"{part}=Layer is a class: give an object of it, like Layer\("):
        Step(**parts(part, Layer))
    made = Layer()
    assert getattr(Step(**parts(part, made)), part) is made


def test_what_is_no_option_of_the_compiler() -> None:
    with pytest.raises(TypeError, match=r"compile='reduce-overhead' is neither True nor options: write"):
        Step(nothing, compile="reduce-overhead")  # type: ignore[arg-type]


def test_autocast_takes_a_dtype_or_its_name() -> None:
    assert Step(nothing, autocast=torch.bfloat16).autocast == "bfloat16"
    assert Step(nothing, autocast="bfloat16").autocast == "bfloat16"


@pytest.mark.parametrize("kind", ["operation", "reference"])
def test_a_result_is_no_operation(kind: str) -> None:
    given: dict[str, Any] = {"operation": {}, "reference": {}, kind: {"matmul": 4.0}}
    with pytest.raises(TypeError, match=f"{kind} 'matmul' is a float, not a function: write lambda"):
        Ops({**OPERATIONS, **given["operation"]}, references=given["reference"])


def test_operations_have_names() -> None:
    with pytest.raises(TypeError, match=r"Ops needs names: .* not a list"):
        Ops([nothing])  # type: ignore[arg-type]


def test_a_total_of_text_is_not_a_list_of_letters() -> None:
    with pytest.raises(TypeError, match=r"total 'all': 'matmul' is text, not a list: write \['matmul'\]"):
        Ops(OPERATIONS, totals={"all": "matmul"})
