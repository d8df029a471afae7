"""The point a variant is built at: the axis values as attributes, with device, dtype and mode."""

from __future__ import annotations

import difflib
from typing import Any

from stepmark.records.case import AxisValue, Case


class Point:
    """`c` in a bench file: `c.features`, `c.device`, `c.dtype`, `c.mode`, `c.seed`."""

    def __init__(self, case: Case, *, device: Any, dtype: Any, seed: int) -> None:
        self.device = device
        self.dtype = dtype
        self.mode = case.cell.mode
        self.seed = seed
        self._axes = dict(case.cell.axes)
        self.__dict__.update(self._axes)

    def __getitem__(self, name: str) -> AxisValue:
        return self._axes[name]

    def __getattr__(self, name: str) -> Any:
        # Only reached for names that are not there; the message is the point of it.
        axes = self.__dict__.get("_axes", {})
        near = difflib.get_close_matches(name, axes, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; the axes are: {', '.join(axes) or 'none'}"
        raise AttributeError(f"no axis '{name}'{hint}")

    def __repr__(self) -> str:
        return f"Point({', '.join(f'{name}={value!r}' for name, value in self._axes.items())})"
