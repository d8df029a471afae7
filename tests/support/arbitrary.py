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

from stepmark.records.estimate import Estimate
from stepmark.records.run import Run
from stepmark.records.sample import Layout, Sample, Total
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial, Trial

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
    if kind is Layout:
        return _layouts()  # type: ignore[return-value]
    if kind is LaneTrial:
        return _lanes()  # type: ignore[return-value]
    if kind is Estimate:
        return _estimates()  # type: ignore[return-value]
    return _plain(kind)


def _plain(kind: type[S]) -> st.SearchStrategy[S]:
    fields = msgspec.structs.fields(kind)
    required = {field.name: _values(field.type) for field in fields if field.required}
    optional = {field.name: _values(field.type) for field in fields if not field.required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: kind(**given))


@st.composite
def _layouts(draw: st.DrawFn) -> Layout:
    """Layouts check themselves: names differ, and refer to what is there."""
    names = draw(st.lists(_ATOMS[str], min_size=1, max_size=5, unique=True))
    phases = tuple(names[: draw(st.integers(1, len(names)))])
    parts = st.lists(st.sampled_from(phases), min_size=1, max_size=3).map(tuple)
    totals = tuple(Total(name=name, parts=draw(parts)) for name in names[len(phases) :])
    whole = draw(st.none() | st.sampled_from(phases))
    return Layout(phases=phases, primary=draw(st.sampled_from(names)), totals=totals, whole=whole)


@st.composite
def _lanes(draw: st.DrawFn) -> LaneTrial:
    """Lanes check that every sample has a block for every round."""
    fields = {field.name: _values(field.type) for field in msgspec.structs.fields(LaneTrial)}
    del fields["samples"], fields["rounds"], fields["variant"]
    blocks = 8 * draw(st.integers(0, 3))
    packed = st.binary(min_size=blocks, max_size=blocks)
    beside = st.just(b"") | packed
    samples = st.builds(
        Sample, phase=_ATOMS[str], iterations=_ATOMS[int], nanoseconds=packed, host=beside, lag=beside
    )
    return LaneTrial(
        variant=draw(_ATOMS[str]),
        samples=tuple(draw(st.lists(samples, max_size=3))),
        rounds=draw(packed),
        **draw(st.fixed_dictionaries({}, optional=fields)),
    )


@st.composite
def _estimates(draw: st.DrawFn) -> Estimate:
    """Estimates check that the point lies in its interval."""
    fields = {field.name: _values(field.type) for field in msgspec.structs.fields(Estimate)}
    low, point, high = sorted(draw(fields.pop(name)) for name in ("low", "point", "high"))
    return Estimate(low=low, point=point, high=high, **draw(st.fixed_dictionaries(fields)))


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
    # A database column has one nought: -0.0 seconds since the epoch come back as 0.0.
    return records(Run).map(
        lambda run: replace(run, format=1, finished=None if run.finished is None else run.finished + 0.0)
    )


def trials(max_size: int = 4) -> st.SearchStrategy[list[Trial]]:
    """Trials of one run: any mix of solo passes and launches, no launch twice."""
    mixed = st.lists(records(SoloTrial) | records(LaunchTrial), max_size=max_size)
    return mixed.map(_number_launches)


def _number_launches(mixed: Sequence[Trial]) -> list[Trial]:
    return [
        replace(trial, number=number) if isinstance(trial, LaunchTrial) else trial
        for number, trial in enumerate(mixed)
    ]
