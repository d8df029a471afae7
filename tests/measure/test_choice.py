"""Choosing one case by a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.errors import UsageError
from stepmark.measure.choice import SHOWN_CASES, choose
from stepmark.records.case import Case, Cell
from tests.support.properties import steady


def cases(num: int = 2) -> list[Case]:
    cells = [Cell(suite="layers", axes=(("features", 16 * (n + 1)),)) for n in range(num)]
    return [Case(variant=variant, cell=cell) for cell in cells for variant in ("dense", "dense_fused")]


def chosen(every: list[Case], text: str | None) -> Case:
    return choose(every, text, purpose="a profile")


@pytest.mark.parametrize(
    "text",
    ["layers/dense[features=16]/cpu/float32/train", "layers/dense[features=16", "dense[features=16]"],
)
def test_names_and_beginnings(text: str) -> None:
    assert chosen(cases(), text).id == "layers/dense[features=16]/cpu/float32/train"


def test_a_whole_name_goes_before_the_beginning_of_another() -> None:
    assert chosen(cases(1), "dense").variant == "dense"
    assert chosen(cases(1), "dense_").variant == "dense_fused"


def test_a_case_alone_need_not_be_named() -> None:
    assert chosen(cases(1)[:1], None) == cases(1)[0]


@pytest.mark.parametrize("text", [None, "dense", "layers/"])
def test_several_are_listed(text: str | None) -> None:
    with pytest.raises(UsageError, match="cases, and a profile is of one") as caught:
        chosen(cases(), text)
    assert "layers/dense[features=32]/cpu/float32/train" in caught.value.detail
    assert "--case" in caught.value.remedy


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="no case is called 'sparse'") as caught:
        chosen(cases(30), "sparse")
    *listed, last = caught.value.detail.splitlines()
    assert len(listed) == SHOWN_CASES
    assert last == f"and {60 - SHOWN_CASES} more"


@steady
@given(st.integers(1, 6), st.data())
def test_every_case_can_be_named_by_its_id(num: int, data: st.DataObject) -> None:
    every = cases(num)
    case = data.draw(st.sampled_from(every))
    assert chosen(every, case.id) == case
