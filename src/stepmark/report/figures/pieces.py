"""Pieces of specifications: marks and channels by Altair, panels and data put together around them.

Altair checks every object against Vega-Lite's schema, which takes longer than all the rest. Here it writes
marks and channels without that; the tests hold every specification against the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import altair as alt
from altair.utils.schemapi import debug_mode

from stepmark.report.figures.figure import Spec

SCHEMA = alt.SCHEMA_URL
unchecked = partial(debug_mode, False)
"""A decorator for what draws: Altair's objects are not held against the schema one by one."""
DIGITS = 6
"""Of numbers in a figure's data: far more than can be seen."""
Rows = list[dict[str, Any]]


class Marks(NamedTuple):
    """A layer in the making: which rows of which data, and the mark they get."""

    data: str | None = None
    """None stands for the panel's own."""
    where: str | None = None
    """An expression: no text of a user's may be in it."""
    parts: Spec | None = None
    """Of the mark."""

    def mark(self, type_: str, **parts: Any) -> Marks:
        """With this mark."""
        return self._replace(parts={"type": type_, **parts})

    def encode(self, **channels: Any) -> Spec:
        """The layer."""
        return {
            **({"data": {"name": self.data}} if self.data else {}),
            **({"transform": [{"filter": self.where}]} if self.where else {}),
            "mark": self.parts,
            "encoding": {name: _plain(channel) for name, channel in channels.items()},
        }


def marks(*, data: str | None = None, where: str | None = None) -> Marks:
    """The beginning of a layer."""
    return Marks(data, where)


def layered(*layers: Spec, data: str, **parts: Any) -> Spec:
    """One panel: layers over the same data, unless a layer names its own."""
    return {"data": {"name": data}, "layer": list(layers), **parts}


def figure_spec(datasets: Mapping[str, Rows], **parts: Any) -> Spec:
    """A whole specification."""
    return {"$schema": SCHEMA, **parts, "datasets": dict(datasets)}


class Ruler(NamedTuple):
    """A scale with its axis; all layers of a panel name the same one, so that nothing is merged."""

    scale: alt.Scale
    axis: alt.Axis | None = None

    def x(self, field: str) -> alt.X:
        """A number of the data, across."""
        return alt.X(field=field, type="quantitative", scale=self.scale, axis=self.axis)

    def y(self, field: str) -> alt.Y:
        """A number of the data, upwards."""
        return alt.Y(field=field, type="quantitative", scale=self.scale, axis=self.axis)

    def x_at(self, value: float) -> alt.XDatum:
        """A number that is not of the data, across."""
        return alt.XDatum(value, type="quantitative", scale=self.scale, axis=self.axis)

    def y_at(self, value: float) -> alt.YDatum:
        """A number that is not of the data, upwards."""
        return alt.YDatum(value, type="quantitative", scale=self.scale, axis=self.axis)


def tips(fields: Iterable[tuple[str, str]]) -> list[Spec]:
    """What a pointer shows: fields that hold finished texts, with their titles."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in fields]


def rounded(value: float) -> float:
    """As many digits as anybody can see."""
    return float(f"{value:.{DIGITS}g}")


def by_name(field: str, names: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """A nominal field and the value of each of its names, without a legend."""
    return {
        "field": field,
        "type": "nominal",
        "scale": alt.Scale(domain=list(names), range=list(values)),
        "legend": None,
    }


def _plain(channel: Any) -> Any:
    if isinstance(channel, list):
        return [_plain(each) for each in channel]
    return channel if isinstance(channel, dict) else channel.to_dict(validate=False)
