"""Suites: variants over axes, and everything that could not be measured refused where it is written."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.authoring.needs import Needs
from stepmark.authoring.suite import RESERVED, Suite
from stepmark.authoring.workload import Step
from stepmark.errors import UsageError
from stepmark.records.case import AxisValue, Mode
from stepmark.records.outline import Axis, PresetOutline, SuiteOutline
from tests.support.properties import steady


def build(c: Any) -> Step:
    """One linear layer.

    Not shown.
    """
    return Step(lambda: None)


def test_variants_are_registered_with_and_without_arguments() -> None:
    suite = Suite("mine")

    @suite.variant(baseline=True)
    def dense(c: Any) -> Step:
        return build(c)

    @suite.variant
    def thin(c: Any) -> Step:
        return build(c)

    suite.variant(name="thick one")(build)
    assert list(suite.variants) == ["dense", "thin", "thick one"]
    assert [variant.baseline for variant in suite.variants.values()] == [True, False, False]
    assert isinstance(dense(None), Step), "the function stays what it was"
    assert suite.variants["thin"].build is thin


def test_the_outline_is_the_suite_as_data() -> None:
    suite = Suite(
        "mine",
        axes={"features": [512, 2048], "act": ["gelu"]},
        modes=["forward", "train"],
        dtypes=["bfloat16"],
        about="Why.",
    )
    suite.variant(baseline=True, name="dense")(build)
    suite.variant(name="thin")(lambda c: build(c))
    outline = suite.outline(source_index=3)
    assert outline.axes == (Axis(name="features", values=(512, 2048)), Axis(name="act", values=("gelu",)))
    assert (outline.modes, outline.dtypes) == ((Mode.FORWARD, Mode.TRAIN), ("bfloat16",))
    assert [(v.name, v.baseline, v.about) for v in outline.variants] == [
        ("dense", True, "One linear layer."),
        ("thin", False, ""),
    ]
    assert (outline.name, outline.about, outline.source_index, outline.baseline) == (
        "mine",
        "Why.",
        3,
        "dense",
    )


def test_a_lone_variant_is_its_own_baseline() -> None:
    suite = Suite("mine")
    suite.variant(build)
    assert suite.outline().baseline == "build"


values: st.SearchStrategy[AxisValue] = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="[],=\n", exclude_categories=["Cs"]), max_size=4)
)


@steady
@given(st.lists(values, min_size=1, max_size=5, unique_by=(str, lambda value: value)))
def test_any_plain_values_can_be_sent_to_another_process(axis: list[AxisValue]) -> None:
    outline = Suite("mine", axes={"a": axis}).outline()
    assert outline.axes[0].values == tuple(axis)
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(outline), type=SuiteOutline)
    assert sent == outline
    assert [type(value) for value in sent.axes[0].values] == [type(value) for value in axis]


@pytest.mark.parametrize("value", ["a,b", "a=b", "[a]", "two\nlines"])
def test_text_that_would_blur_case_ids_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="has a value"):
        Suite("mine", axes={"a": [value]})


class Colour(str):
    pass


@pytest.mark.parametrize(
    "value", [None, (1, 2), [1, 2], b"x", 1j, object(), Colour("red"), float("nan"), float("inf")]
)
def test_values_that_could_not_be_stored_are_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="axis 'a' has a value") as caught:
        Suite("mine", axes={"a": [1, value]})
    assert type(value).__name__ in caught.value.problem


@pytest.mark.parametrize("axis", [[1, 1], [1, True], [1, 1.0], ["1", 1], ["x", "y", "x"]])
def test_values_that_would_share_a_case_are_refused(axis: list[AxisValue]) -> None:
    with pytest.raises(UsageError, match="axis 'a': the same value is there twice"):
        Suite("mine", axes={"a": axis})


def test_an_axis_needs_values() -> None:
    with pytest.raises(UsageError, match="axis 'a': there are no values"):
        Suite("mine", axes={"a": []})


@pytest.mark.parametrize("axis", [*sorted(RESERVED), "_axes", "__class__", "class", "two words", "1st", ""])
def test_names_an_axis_cannot_have(axis: str) -> None:
    with pytest.raises(UsageError, match=f"'{axis}' cannot name an axis"):
        Suite("mine", axes={axis: [1]})


@pytest.mark.parametrize("name", ["", "a/b", "a[1]", "a]", "a\nb"])
def test_names_that_would_break_an_id_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a suite"):
        Suite(name)
    with pytest.raises(UsageError, match="cannot name a variant"):
        Suite("mine").variant(name=name or "/")(build)


@pytest.mark.parametrize("field", ["modes", "dtypes"])
def test_modes_and_dtypes_are_lists_without_repeats(field: str) -> None:
    for wrong, problem in (
        ("train", "is text, not a list"),
        ([], "no values"),
        (["train", "train"], "twice"),
    ):
        with pytest.raises(UsageError, match=f"{field}: .*{problem}"):
            Suite("mine", **{field: wrong})  # type: ignore[arg-type]


def test_an_axis_of_text_is_not_a_list_of_letters() -> None:
    with pytest.raises(UsageError, match="axis 'act': 'gelu' is text, not a list") as caught:
        Suite("mine", axes={"act": "gelu"})
    assert caught.value.remedy == "write ['gelu']"


def test_an_unknown_mode_names_the_modes() -> None:
    with pytest.raises(UsageError, match="no mode 'training'") as caught:
        Suite("mine", modes=["training"])
    assert "train, forward, ops" in caught.value.remedy


def test_two_variants_of_one_name_are_refused() -> None:
    suite = Suite("mine")
    suite.variant(build)
    with pytest.raises(UsageError, match="two variants named 'build'"):
        suite.variant(build)


def test_two_baselines_are_refused() -> None:
    suite = Suite("mine")
    suite.variant(baseline=True)(build)
    with pytest.raises(UsageError, match="two baselines"):
        suite.variant(baseline=True, name="other")(build)


def test_presets_are_other_values_of_some_axes() -> None:
    suite = Suite(
        "mine",
        axes={"features": [512, 2048], "act": ["gelu"]},
        presets={
            "quick": {"features": [64], "variant": ["build"]},
            "all": {},
            "half": {"dtype": ["float16"]},
        },
        where="features<4096",
    )
    suite.variant(build)
    outline = suite.outline()
    assert outline.presets == (
        PresetOutline(name="quick", axes=(Axis(name="features", values=(64,)),), variants=("build",)),
        PresetOutline(name="all", axes=()),
        PresetOutline(name="half", axes=(), dtypes=("float16",)),
    )
    assert outline.where == "features<4096"
    assert msgspec.json.decode(msgspec.json.encode(outline), type=SuiteOutline) == outline


@pytest.mark.parametrize("values", [{"feature": [64]}, {"features": []}, {"features": [1, 1]}])
def test_a_preset_that_does_not_fit_is_refused_where_it_is_written(values: dict[str, list[int]]) -> None:
    with pytest.raises(UsageError, match="feature"):
        Suite("mine", axes={"features": [512]}, presets={"quick": values})


def test_a_variant_may_foretell_its_needs() -> None:
    suite = Suite("mine")
    suite.variant(baseline=True, needs=lambda c: Needs(memory=4.0 * c))(build)
    suite.variant(name="other")(build)
    foretold = suite.variants["build"].needs
    assert foretold is not None
    assert foretold(3) == Needs(memory=12.0, flops=0.0)
    assert suite.variants["other"].needs is None


@pytest.mark.parametrize(
    "needs", [{"memory": -1.0}, {"memory": 1.0, "flops": -1.0}, {"memory": float("nan")}]
)
def test_needs_are_not_negative(needs: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="negative"):
        Needs(**needs)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"axes": {"features": 5}}, "axis 'features': 5 is not a list"),
        ({"axes": {"features": [[1], [2]]}}, "of type list"),
        ({"axes": {1: [2]}}, "'1' cannot name an axis"),
        ({"axes": ["features"]}, "axes: a list has no names"),
        ({"presets": ["quick"]}, "presets: a list has no names"),
        ({"presets": {"quick": [512]}}, "preset 'quick': a list has no names"),
        ({"presets": {"quick": {"variant": [1]}}}, "preset 'quick': 1 is not a name"),
        ({"dtypes": [3.0]}, "dtypes: 3.0 is not a name"),
        ({"dtypes": [["float32"]]}, "dtypes: .* is not a name"),
        ({"where": lambda c: True}, "where is of type function, not text"),
        ({"about": None}, "about is of type NoneType, not text"),
        ({"name": 5}, "'5' cannot name a suite"),
    ],
)
def test_what_could_not_be_sent_to_another_process_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Suite(**{"name": "mine", **given})


def test_the_values_of_an_axis_may_come_one_by_one() -> None:
    assert Suite("mine", axes={"features": (2**n for n in (3, 4))}).axes == {"features": (8, 16)}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"build": "dense"}, "'dense' has no name of its own"),
        ({"build": partial(build)}, "has no name of its own"),
        ({"build": build, "needs": Needs(memory=1.0)}, "the needs of variant 'build' cannot be called"),
        ({"build": build, "accepts": "same-work-as-baseline"}, "'same-work-as-baseline' is text, not a list"),
    ],
)
def test_a_variant_that_could_not_be_built_is_refused_where_it_is_written(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        Suite("mine").variant(**given)


def test_what_has_no_name_of_its_own_can_be_given_one() -> None:
    suite = Suite("mine")
    suite.variant(name="dense")(partial(build))
    assert list(suite.variants) == ["dense"]
