"""What users give, looked at where they give it: lists, names, texts and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from stepmark.errors import UsageError

T = TypeVar("T")


def several(values: Iterable[T], what: str) -> tuple[T, ...]:
    """A list, and neither a text, which would be its letters, nor one value by itself."""
    if isinstance(values, str):
        raise UsageError(f"{what}: '{values}' is text, not a list", remedy=f"write ['{values}']")
    if not isinstance(values, Iterable):
        raise UsageError(f"{what}: {values!r} is not a list", remedy=f"write [{values!r}]")
    return tuple(values)


def listed(values: Iterable[T], what: str) -> tuple[T, ...]:
    """Values that tell cases apart: at least one, no two the same, nor the same in a case id."""
    given = several(values, what)
    if not given:
        raise UsageError(f"{what}: there are no values", remedy="give at least one")
    if len(set(given)) < len(given) or len({str(value) for value in given}) < len(given):
        raise UsageError(f"{what}: the same value is there twice", remedy="keep one of each")
    return given


def text(value: str, what: str, *, like: str) -> str:
    """What is stored as text, and read by who has not the bench file."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is of type {type(value).__name__}, not text", remedy=f"write '{like}'")
    return value


def mapping(values: Mapping[str, T], what: str) -> Mapping[str, T]:
    if not isinstance(values, Mapping):
        raise UsageError(
            f"{what}: a {type(values).__name__} has no names for its values", remedy="write {'name': [...]}"
        )
    return values


def names(values: Iterable[object], what: str) -> tuple[str, ...]:
    """No two the same."""
    found: list[str] = []
    for value in several(values, what):
        if not isinstance(value, str):
            raise UsageError(f"{what}: {value!r} is not a name", remedy="write names, like 'float32'")
        found.append(value)
    return listed(found, what)
