"""From outlines to cases, with what the user asked for put in."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.errors import UsageError
from stepmark.measure.expand import Selection, expand, select
from stepmark.records.case import AxisValue, Cache, Execution, Mode
from stepmark.records.outline import Axis, PresetOutline, SuiteOutline, VariantOutline
from tests.support.properties import steady


def outline(
    name: str = "mine",
    axes: dict[str, tuple[AxisValue, ...]] | None = None,
    variants: tuple[str, ...] = ("dense", "thin"),
    modes: tuple[Mode, ...] = (Mode.TRAIN,),
    dtypes: tuple[str, ...] = ("float32",),
) -> SuiteOutline:
    return SuiteOutline(
        name=name,
        axes=tuple(Axis(name=axis, values=values) for axis, values in (axes or {}).items()),
        variants=tuple(VariantOutline(name=v, baseline=i == 0) for i, v in enumerate(variants)),
        modes=modes,
        dtypes=dtypes,
    )


def selected(one: SuiteOutline, **choice: object) -> SuiteOutline:
    (result,) = select([one], Selection(**choice))  # type: ignore[arg-type]
    return result


def set_axis(values: tuple[AxisValue, ...], typed: str) -> tuple[AxisValue, ...]:
    return selected(outline(axes={"a": values}), axes={"a": typed}).axes[0].values


@steady
@given(
    st.dictionaries(
        st.sampled_from("xyz"), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True).map(tuple)
    ),
    st.lists(st.sampled_from("abc"), min_size=1, unique=True).map(tuple),
    st.lists(st.sampled_from([Mode.TRAIN, Mode.FORWARD]), min_size=1, unique=True).map(tuple),
    st.lists(st.sampled_from(["float32", "bfloat16"]), min_size=1, unique=True).map(tuple),
)
def test_every_variant_at_every_point_in_every_dtype_and_mode_once(
    axes: dict[str, tuple[AxisValue, ...]],
    variants: tuple[str, ...],
    modes: tuple[Mode, ...],
    dtypes: tuple[str, ...],
) -> None:
    cases = expand(
        [outline(axes=axes, variants=variants, modes=modes, dtypes=dtypes)], condition=None, device="cpu"
    )
    combinations = list(product(modes, dtypes, product(*axes.values()), variants))
    assert [
        (case.cell.mode, case.cell.dtype, tuple(value for _, value in case.cell.axes), case.variant)
        for case in cases
    ] == combinations
    assert len({case.id for case in cases}) == len(cases)
    assert {case.cell.device for case in cases} == {"cpu"}
    assert all([name for name, _ in case.cell.axes] == list(axes) for case in cases)


def test_variants_of_a_cell_stand_together_and_suites_in_order() -> None:
    cases = expand([outline("one", {"x": (1, 2)}), outline("two")], condition=None, device="cuda")
    assert [(c.cell.suite, c.cell.point, c.variant) for c in cases] == [
        ("one", "x=1", "dense"),
        ("one", "x=1", "thin"),
        ("one", "x=2", "dense"),
        ("one", "x=2", "thin"),
        ("two", "", "dense"),
        ("two", "", "thin"),
    ]


def test_a_filter_leaves_cells_out() -> None:
    cases = expand([outline(axes={"x": (1, 2, 3)})], condition="x != 2", device="cpu")
    assert {case.cell.point for case in cases} == {"x=1", "x=3"}
    assert len(cases) == 4


def test_a_cell_keeps_its_baseline() -> None:
    three = outline(axes={"x": (1, 2)}, variants=("dense", "thin", "thick"))
    cases = expand([three], condition="variant == 'thin' and x == 2", device="cpu")
    assert [(case.cell.point, case.variant) for case in cases] == [("x=2", "dense"), ("x=2", "thin")]


def test_a_filter_on_an_axis_leaves_out_suites_without_it() -> None:
    cases = expand(
        [outline("one", {"x": (1, 2)}), outline("two", {"y": (1,)})], condition="x < 2", device="cpu"
    )
    assert {(case.cell.suite, case.cell.point) for case in cases} == {("one", "x=1")}


def test_a_filter_that_leaves_nothing_says_so() -> None:
    with pytest.raises(UsageError, match="filter 'x > 9' leaves nothing to measure"):
        expand([outline(axes={"x": (1, 2)})], condition="x > 9", device="cpu")


@pytest.mark.parametrize(
    ("values", "typed", "expected"),
    [
        ((512, 1024), "64,128", (64, 128)),
        ((512, 1024), " 64 , 128 ,", (64, 128)),
        ((512,), "8,8,4", (8, 4)),
        ((0.5, 1.5), "2,0.25", (2.0, 0.25)),
        ((1, 2.5), "3,0.5", (3, 0.5)),
        ((True, False), "true,FALSE", (True, False)),
        (("gelu", "relu"), "tanh,1", ("tanh", "1")),
        (("auto", 8), "16,auto", (16, "auto")),
        ((True, 4), "false,2", (False, 2)),
    ],
)
def test_typed_values_take_the_types_of_the_axis(
    values: tuple[AxisValue, ...], typed: str, expected: tuple[AxisValue, ...]
) -> None:
    got = set_axis(values, typed)
    assert got == expected
    assert [type(value) for value in got] == [type(value) for value in expected]


@steady
@given(
    st.lists(
        st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4, unique=True
    )
)
def test_an_axis_typed_as_it_is_written_stays_what_it_is(values: list[int | float]) -> None:
    got = set_axis(tuple(values), ",".join(map(str, values)))
    assert [(type(value), value) for value in got] == [(type(value), value) for value in values]


@pytest.mark.parametrize(
    ("values", "typed"),
    [((512,), "many"), ((512,), "1.5"), ((0.5,), "nan"), ((0.5,), "inf"), ((True,), "yes"), ((True,), "1")],
)
def test_a_value_of_another_type_is_refused(values: tuple[AxisValue, ...], typed: str) -> None:
    with pytest.raises(UsageError, match=f"'{typed}' is not a value for axis 'a'") as caught:
        set_axis(values, typed)
    assert str(values[0]) in caught.value.remedy


@pytest.mark.parametrize("typed", ["", " ", ",,"])
def test_an_axis_needs_a_value(typed: str) -> None:
    with pytest.raises(UsageError, match="axis 'a' was given no values"):
        set_axis((1,), typed)


def test_an_unknown_axis_names_the_nearest() -> None:
    one = outline(axes={"features": (1,), "tokens": (1,)})
    with pytest.raises(UsageError, match="no axis 'feature'") as caught:
        selected(one, axes={"feature": "2"})
    assert caught.value.remedy == "did you mean features?"
    with pytest.raises(UsageError) as caught:
        selected(one, axes={"zzz": "2"})
    assert caught.value.remedy == "the axes are: features, tokens"
    with pytest.raises(UsageError) as caught:
        selected(outline(), axes={"zzz": "2"})
    assert caught.value.remedy == "the axes are: none"


def test_an_axis_of_one_suite_leaves_the_others_alone() -> None:
    one, two = select([outline("one", {"x": (1,)}), outline("two", {"y": (1,)})], Selection(axes={"x": "5"}))
    assert (one.axes[0].values, two.axes[0].values) == ((5,), (1,))


def test_dtypes_and_modes_are_put_in_the_place_of_the_suites() -> None:
    plain = outline(modes=(Mode.TRAIN,), dtypes=("float32",))
    chosen = selected(plain, dtypes=("bfloat16", "float64"), modes=(Mode.FORWARD,))
    assert (chosen.dtypes, chosen.modes) == (("bfloat16", "float64"), (Mode.FORWARD,))
    assert selected(plain) == plain


def test_operations_have_no_other_mode() -> None:
    operations = outline(modes=(Mode.OPS,))
    assert selected(operations, modes=(Mode.FORWARD,)).modes == (Mode.OPS,)


def with_presets(**presets: dict[str, tuple[AxisValue, ...]]) -> SuiteOutline:
    return replace(
        outline(axes={"a": (1, 2, 3), "b": ("x",)}),
        presets=tuple(
            PresetOutline(name=name, axes=tuple(Axis(name=n, values=v) for n, v in axes.items()))
            for name, axes in presets.items()
        ),
    )


def test_a_preset_replaces_the_values_of_its_axes() -> None:
    suite = with_presets(quick={"a": (1,)}, published={})
    assert [axis.values for axis in selected(suite, preset="quick").axes] == [(1,), ("x",)]
    assert [axis.values for axis in selected(suite, preset="published").axes] == [(1, 2, 3), ("x",)]
    assert [axis.values for axis in selected(suite).axes] == [(1, 2, 3), ("x",)], "no standard of its own"


def test_a_preset_may_leave_variants_out_but_not_the_baseline() -> None:
    suite = replace(
        outline(variants=("dense", "thin", "compiled")),
        presets=(PresetOutline(name="quick", axes=(), variants=("thin",)),),
    )
    assert [each.name for each in selected(suite, preset="quick").variants] == ["dense", "thin"]
    assert [each.name for each in selected(suite).variants] == ["dense", "thin", "compiled"]


def test_a_preset_may_have_a_dtype_of_its_own() -> None:
    suite = replace(outline(), presets=(PresetOutline(name="published", axes=(), dtypes=("float16",)),))
    assert selected(suite, preset="published").dtypes == ("float16",)
    assert selected(suite, preset="published", dtypes=("bfloat16",)).dtypes == ("bfloat16",)
    assert selected(suite, preset="quick").dtypes == ("float32",)


def test_what_the_user_sets_comes_after_the_preset() -> None:
    chosen = selected(with_presets(quick={"a": (1,)}), preset="quick", axes={"a": "7,8"})
    assert chosen.axes[0].values == (7, 8)


def test_presets_of_time_fit_every_suite_and_others_must_be_in_one() -> None:
    bare = outline(axes={"a": (1, 2)})
    for preset in ("quick", "standard", "full"):
        assert selected(bare, preset=preset).axes == bare.axes
    with pytest.raises(UsageError, match="no preset 'published' in mine"):
        selected(bare, preset="published")
    both = select([bare, with_presets(published={"a": (3,)})], Selection(preset="published"))
    assert [one.axes[0].values for one in both] == [(1, 2), (3,)]


def test_points_that_a_suite_rules_out_do_not_exist() -> None:
    suite = replace(outline(axes={"a": (1, 2, 3), "b": (1, 2)}), where="a > b and variant != 'thin'")
    cases = expand([suite], condition=None, device="cpu")
    assert [(case.variant, dict(case.cell.axes)) for case in cases] == [
        ("dense", {"a": 2, "b": 1}),
        ("dense", {"a": 3, "b": 1}),
        ("dense", {"a": 3, "b": 2}),
    ]
    with pytest.raises(UsageError, match="unknown axis 'c'"):
        expand([replace(suite, where="c > 1")], condition=None, device="cpu")


def regimes(device: str, mode: Mode, **choice: Any) -> list[tuple[Execution, Cache]]:
    cases = expand([outline(variants=("a",), modes=(mode,))], condition=None, device=device, **choice)
    return [(case.cell.execution, case.cell.cache) for case in cases]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1"])
def test_operations_on_cuda_are_measured_warm_and_cold(device: str, mode: Mode) -> None:
    both = mode is Mode.OPS and device != "cpu"
    usual = [(Execution.EAGER, Cache.WARM)]
    assert regimes(device, mode) == ([*usual, (Execution.EAGER, Cache.COLD)] if both else usual)
    assert regimes(device, mode, caches=(Cache.WARM,)) == usual


def test_every_execution_in_every_cache() -> None:
    chosen = regimes("cuda", Mode.TRAIN, executions=tuple(Execution), caches=tuple(Cache))
    assert chosen == [(execution, cache) for execution in Execution for cache in Cache]


def test_what_a_cpu_cannot_do_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="no CUDA graphs on cpu") as caught:
        regimes("cpu", Mode.TRAIN, executions=(Execution.GRAPH,))
    assert "--mode compiled" in caught.value.remedy
    with pytest.raises(UsageError, match="cold on CUDA only") as caught:
        regimes("cpu", Mode.OPS, caches=(Cache.COLD,))
    assert "--cache warm" in caught.value.remedy
    assert regimes("cpu", Mode.TRAIN, executions=(Execution.COMPILED,)) == [(Execution.COMPILED, Cache.WARM)]


def test_a_filter_knows_regimes() -> None:
    cases = expand(
        [outline(variants=("a",), modes=(Mode.OPS,))],
        condition="cache == 'cold' and execution == 'graph'",
        device="cuda",
        executions=tuple(Execution),
    )
    assert [case.cell.regime for case in cases] == [("graph", "cold")]
