"""Work of custom operators: formulas that tell the audit how many floating-point operations a call does."""

from __future__ import annotations

import re
from collections.abc import Callable

_FORMULAS: dict[str, Callable[..., float]] = {}


def register_work(operator: str, formula: Callable[..., float]) -> None:
    """Let the audit count an operator of your own: `register_work("mine::gemm", lambda a, b: ...)`.

    The formula is called with the operator's arguments and returns floating-point operations, two for a
    multiplication with an addition; it may look at shapes and must not touch numbers. Without one the audit
    takes the operator's work as unknown and says nothing that hangs on it.
    """
    if not re.fullmatch(r"\w+::\w+", operator):
        raise ValueError(f"'{operator}' is no operator's name: write it as 'library::operator'")
    if not callable(formula):
        raise TypeError(f"the formula of '{operator}' cannot be called")
    _FORMULAS[operator] = formula


def formula_named(operator: str) -> Callable[..., float] | None:
    return _FORMULAS.get(operator)
