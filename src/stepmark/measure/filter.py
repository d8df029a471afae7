"""A filter: a condition on axes, like `features<2048 and variant != 'mine'`."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection
from typing import Any

from stepmark.errors import UsageError
from stepmark.records.case import Case

OWN_NAMES = ("suite", "variant", "device", "dtype", "mode", "execution", "cache")
"""Names a filter may use besides the axes."""

_ALLOWED = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Tuple,
    ast.List,
)


class Filter:
    """A condition checked once, when it is made."""

    def __init__(self, text: str, axes: Collection[str]) -> None:
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(
                f"filter '{text}' does not parse: {getattr(error, 'msg', error)}",
                remedy='write it like "features<2048"',
            ) from None
        _check(tree, text, {*axes, *OWN_NAMES})
        self._text = text
        self._code = compile(tree, "<filter>", "eval")

    def admits(self, case: Case) -> bool:
        """Whether a case passes; one whose suite lacks an axis that decides does not."""
        values: dict[str, Any] = dict(case.cell.axes)
        cell = case.cell
        values |= {"suite": cell.suite, "variant": case.variant, "device": cell.device}
        values |= {"dtype": cell.dtype, "mode": cell.mode.value}
        values |= {"execution": cell.execution.value, "cache": cell.cache.value}
        try:
            return bool(eval(self._code, {"__builtins__": {}}, values))
        except NameError:
            return False
        except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
            raise UsageError(
                f"filter '{self._text}' cannot be applied to {case.id}: {error}",
                remedy="compare numbers with numbers and names with quoted names",
            ) from None


def _check(tree: ast.Expression, text: str, known: set[str]) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise UsageError(
                f"filter '{text}' uses more than comparisons", remedy='write it like "features<2048"'
            )
        if isinstance(node, ast.Name) and node.id not in known:
            near = difflib.get_close_matches(node.id, known, n=1)
            raise UsageError(
                f"filter '{text}' names an unknown axis '{node.id}'",
                remedy=f"did you mean {near[0]}?" if near else f"known names: {', '.join(sorted(known))}",
            )
