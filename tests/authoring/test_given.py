"""What users give: taken as it is, or refused with what to write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.authoring.given import listed, mapping, names, several, text
from stepmark.errors import UsageError

anything = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.booleans())


@given(st.lists(anything), st.sampled_from([list, tuple, iter]))
def test_a_list_of_any_kind_keeps_its_order(values: list[Any], kind: Any) -> None:
    assert several(kind(values), "axis 'n'") == tuple(values)


@given(anything)
def test_one_value_is_no_list_and_the_remedy_is_one(value: Any) -> None:
    with pytest.raises(UsageError, match=r"axis 'n': .* is not a list") as caught:
        several(value, "axis 'n'")
    assert caught.value.remedy == f"write [{value!r}]"


@given(st.text())
def test_a_text_is_not_the_list_of_its_letters(word: str) -> None:
    with pytest.raises(UsageError, match="is text, not a list"):
        several(word, "dtypes")


@given(st.lists(st.text(), min_size=1, unique=True), st.data())
def test_names_are_there_once(words: list[str], data: st.DataObject) -> None:
    assert names(words, "dtypes") == tuple(words)
    with pytest.raises(UsageError, match="the same value is there twice"):
        names([*words, data.draw(st.sampled_from(words))], "dtypes")


@pytest.mark.parametrize(
    ("values", "says"), [([], "there are no values"), ([1, 1.0], "twice"), ([1, "1"], "twice")]
)
def test_values_tell_cases_apart(values: list[Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        listed(values, "axis 'n'")


@pytest.mark.parametrize("value", [None, 3, [["float32"]], {"float32": 1}])
def test_what_is_no_name_mapping_or_text(value: Any) -> None:
    if not isinstance(value, dict):
        with pytest.raises(UsageError, match="has no names for its values"):
            mapping(value, "presets")
        with pytest.raises(UsageError, match=r"is not a name|is not a list"):
            names(value, "dtypes")
    with pytest.raises(UsageError, match="not text") as caught:
        text(value, "where", like="tokens <= features")
    assert caught.value.remedy == "write 'tokens <= features'"
