"""Hypothesis strategies for every record, read off its fields: a field added later is exercised at once."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.records.run import Run
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial

S = TypeVar("S", bound=msgspec.Struct)

_INT64 = st.integers(-(2**63), 2**63 - 1)
_ATOMS: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**31), 2**31 - 1) | _INT64,
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    bytes: st.binary(max_size=24),
    type(None): st.none(),
}


def records(kind: type[S]) -> st.SearchStrategy[S]:
    """Any value of a record type, every optional field now and then left out."""
    fields = msgspec.structs.fields(kind)
    required = {field.name: _values(field.type) for field in fields if field.required}
    optional = {field.name: _values(field.type) for field in fields if not field.required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: kind(**given))


@cache
def _values(kind: Any) -> st.SearchStrategy[Any]:
    if kind in _ATOMS:
        return _ATOMS[kind]
    if get_origin(kind) in {Union, UnionType}:
        return st.one_of([_values(member) for member in get_args(kind)])
    if get_origin(kind) is tuple:
        return _tuples(get_args(kind))
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    return st.deferred(lambda: records(kind))


def _tuples(members: tuple[Any, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    if members[-1] is Ellipsis:
        return st.lists(_values(members[0]), max_size=3).map(tuple)
    return st.tuples(*[_values(member) for member in members])


def runs() -> st.SearchStrategy[Run]:
    return records(Run).map(lambda run: replace(run, format=1))


def trials(max_size: int = 4) -> st.SearchStrategy[list[Trial]]:
    """Trials of one run: any mix of solo passes and launches, no launch twice."""
    mixed = st.lists(records(SoloTrial) | records(LaunchTrial), max_size=max_size)
    return mixed.map(_number_launches)


def _number_launches(mixed: Sequence[Trial]) -> list[Trial]:
    return [
        replace(trial, number=number) if isinstance(trial, LaunchTrial) else trial
        for number, trial in enumerate(mixed)
    ]
