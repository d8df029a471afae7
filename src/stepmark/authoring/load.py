"""Suites from their sources: the bench file, the built-in, the pickled object, the expressions."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pickle
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from stepmark.authoring.expressions import suite_of_expressions
from stepmark.authoring.suite import VARIANT, Suite
from stepmark.errors import BenchFileError, UsageError
from stepmark.records.source import BuiltinSource, ExpressionSource, FileSource, PickledSource, Source


def load(source: Source) -> tuple[Suite, ...]:
    """Every suite the source defines, in the order of definition. Runs the user's code."""
    match source:
        case FileSource():
            return _from_file(source)
        case BuiltinSource():
            module = importlib.import_module(f"stepmark.suites.{source.name}")
            return suites_of(module)
        case PickledSource():
            _extend_path(source.path)
            return (pickle.loads(source.payload),)
        case ExpressionSource():
            _extend_path(source.path)
            return (suite_of_expressions(source),)


def _from_file(source: FileSource) -> tuple[Suite, ...]:
    path = Path(source.path)
    _extend_path([str(path.parent)])
    module = _import_file(path)
    found = suites_of(module)
    if not found:
        raise BenchFileError(
            f"{path.name} defines no suite", remedy='add one: suite = stepmark.Suite("name", axes={...})'
        )
    if source.suite is None:
        return found
    chosen = tuple(suite for suite in found if suite.name == source.suite)
    if not chosen:
        names = [suite.name for suite in found]
        near = difflib.get_close_matches(source.suite, names, n=1)
        raise UsageError(
            f"{path.name} has no suite '{source.suite}'",
            remedy=f"did you mean {near[0]}?" if near else f"it has: {', '.join(names)}",
        )
    return chosen


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BenchFileError(f"{path.name} is not a Python file", remedy="name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def suites_of(module: ModuleType) -> tuple[Suite, ...]:
    """The suites among a module's names, each once."""
    found: dict[int, Suite] = {
        id(value): value for value in vars(module).values() if isinstance(value, Suite)
    }
    return tuple(found.values())


def _extend_path(directories: Iterable[str]) -> None:
    for directory in reversed(list(directories)):
        if directory not in sys.path:
            sys.path.insert(0, directory)


def check(suites: Iterable[Suite]) -> None:
    """Refuse suites that could not be judged."""
    seen: set[str] = set()
    for suite in suites:
        if suite.name in seen:
            raise UsageError(f"two suites are named '{suite.name}'", remedy="rename one of them")
        seen.add(suite.name)
        if not suite.variants:
            raise UsageError(f"suite '{suite.name}' has no variants", remedy="add one with @suite.variant")
        if len(suite.variants) > 1 and not any(variant.baseline for variant in suite.variants.values()):
            first = next(iter(suite.variants))
            raise UsageError(
                f"suite '{suite.name}' has no baseline to compare with",
                remedy=f"mark one variant: @suite.variant(baseline=True) on '{first}', for instance",
            )
        _check_presets(suite)


def _check_presets(suite: Suite) -> None:
    """The variants that presets name are there: they are added after the suite is made."""
    for preset, axes in suite.presets.items():
        unknown = [str(name) for name in axes.get(VARIANT, ()) if name not in suite.variants]
        if unknown:
            raise UsageError(
                f"preset '{preset}' of suite '{suite.name}' names unknown variants: {', '.join(unknown)}",
                remedy=f"the variants are: {', '.join(suite.variants)}",
            )
