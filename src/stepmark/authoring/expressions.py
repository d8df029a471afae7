"""A suite of expressions: what `stepmark versus` compares, made from its command line."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from itertools import chain, count
from types import ModuleType
from typing import Any

from stepmark.authoring.inputs import Input, randn
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.errors import UsageError
from stepmark.records.source import ExpressionSource
from stepmark.units import parse_shape

GRADIENT = ":grad"
"""Behind an input of the command line."""


def suite_of_expressions(source: ExpressionSource) -> Suite:
    """One variant per expression, the first the baseline, evaluated afresh whenever a lane is built."""
    suite = Suite("versus")
    inputs = tuple(parse_input(text) for text in source.inputs)
    optimizer = evaluate(source.optimizer) if source.optimizer else None
    loss = evaluate(source.loss) if source.loss else None
    for position, name in enumerate(names_of(source.expressions)):
        build = _builder(source.expressions[position], inputs=inputs, optimizer=optimizer, loss=loss)
        suite.variant(baseline=position == 0, name=name)(build)
    return suite


def _builder(expression: str, **parts: Any) -> Callable[[Any], Step]:
    def build(_: Any) -> Step:
        return Step(evaluate(expression), **parts)

    return build


def names_of(expressions: tuple[str, ...]) -> list[str]:
    """The expressions as names: spaces and a common `torch.nn.` left out, repeated ones numbered."""
    names: list[str] = []
    for expression in expressions:
        short = "".join(expression.split()).removeprefix("torch.nn.").replace("/", "÷")
        short = short.replace("[", "(").replace("]", ")")
        numbered = (f"{short}#{number}" for number in count(2))
        names.append(next(name for name in chain([short], numbered) if name not in names))
    return names


def parse_input(text: str) -> Input:
    """`64x1024`, `64x16:int64<1000` for whole numbers below 1000, `64x1024:grad` for an input that wants a
    gradient, as of a layer inside a model."""
    plain = text.removesuffix(GRADIENT)
    wants_gradient = plain != text
    shape, _, rest = plain.partition(":")
    dtype, _, high = rest.partition("<")
    if high or dtype.startswith(("int", "uint")):
        if wants_gradient:
            raise UsageError(f"'{text}': whole numbers have no gradient", remedy=f"leave {GRADIENT} out")
        bound = high or "2"
        if not bound.isdecimal() or int(bound) < 1:
            raise UsageError(f"'{text}' has no whole number after <", remedy="write it like 64x16:int64<1000")
        return Input(fill="integers", shape=parse_shape(shape), dtype=dtype or "int64", high=int(bound))
    return randn(*parse_shape(shape), dtype=dtype or None, requires_grad=wants_gradient)


def evaluate(expression: str) -> Any:
    """The value of a Python expression whose leading dotted names are imported as needed."""
    tree = parse_expression(expression)
    try:
        return eval(compile(tree, "<expression>", "eval"), _namespace(tree))
    except NameError as error:
        inside = error.__traceback__ and error.__traceback__.tb_next
        if inside is None or inside.tb_next is not None:  # raised by what the expression calls
            raise
        raise UsageError(
            f"'{expression}': no module '{error.name}' can be imported: write full names, like torch.nn.GELU",
            remedy="have modules of your own in the current folder",
        ) from None


def parse_expression(expression: str) -> ast.Expression:
    """The expression, read and not evaluated."""
    try:
        return ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise UsageError(
            f"'{expression}' is not a Python expression: {error.msg}",
            remedy='quote it, like "torch.nn.Linear(1024, 1024)"',
        ) from None


def _namespace(tree: ast.Expression) -> dict[str, Any]:
    """The modules the expression names: of `a.b.C(...)` both `a` and `a.b`, where they can be imported."""
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        dotted = _dotted(node)
        if dotted is None:
            continue
        parts = dotted.split(".")
        for stop in range(1, len(parts) + 1):
            module = _module(".".join(parts[:stop]))
            if module is None:
                break
            if stop == 1:
                names[parts[0]] = module
    return names


def _module(name: str) -> ModuleType | None:
    """The module of this name, or None where there is none; one that is there and fails says so itself."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return None
        raise


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        start = _dotted(node.value)
        return f"{start}.{node.attr}" if start else None
    return None
