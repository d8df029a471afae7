"""Targets: what a user types after `stepmark run`, resolved to sources without importing anything."""

from __future__ import annotations

import ast
import difflib
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stepmark.errors import UsageError
from stepmark.records.source import BuiltinSource, FileSource, Source
from stepmark.suites import BUILTIN

_SKIPPED = {"node_modules", "site-packages", "__pycache__", "build", "dist"}
_DEEPEST = 4


@dataclass(frozen=True, kw_only=True)
class BenchFile:
    """A bench file as its text shows it."""

    path: Path
    suites: tuple[str, ...] = ()
    """That it names."""
    about: str = ""
    """The first line of its docstring."""


def resolve(target: str) -> tuple[Source, ...]:
    """A file, `file::suite`, a folder of bench files, or the name of a built-in suite."""
    text, _, suite = target.partition("::")
    path = Path(text)
    if path.is_file():
        return (_source(path, suite or None),)
    files = [bench.path for bench in bench_files(path)] if path.is_dir() else []
    if files and suite:
        raise UsageError(f"{text} is a folder, '{suite}' is in a file", remedy="name the file before ::")
    if files:
        return tuple(_source(file) for file in files)
    if target in BUILTIN:
        return (BuiltinSource(name=target),)
    if path.is_dir():
        raise UsageError(f"no bench_*.py in {text}", remedy="name a file, or write one: bench_mine.py")
    raise UsageError(f"there is no suite or file '{target}'", remedy=_nearest(target))


def _source(path: Path, suite: str | None = None) -> FileSource:
    """What goes to workers and into the store is text."""
    whole = str(path.resolve())
    try:
        whole.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"the path {whole!a} is no text in the locale's encoding",
            remedy="rename it; where the locale is at fault, set PYTHONUTF8=1",
        ) from None
    return FileSource(path=whole, suite=suite)


def _nearest(target: str) -> str:
    names = [*BUILTIN, *(str(bench.path) for bench in bench_files(Path()) if bench.path.is_file())]
    near = difflib.get_close_matches(target, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "`stepmark list` shows the built-in suites and the bench files here"


def folder(target: str) -> Path:
    """The folder of this name."""
    path = Path(target)
    if not path.is_dir():
        raise UsageError(
            f"'{target}' is no folder",
            remedy="name a folder to look in; stepmark list --cases takes bench files and suites",
        )
    return path


def bench_files(directory: Path) -> list[BenchFile]:
    """Every `bench_*.py` below a directory, hidden folders and environments left out, sorted."""
    return [_read(path) for path in sorted(_walk(directory, 0))]


def _walk(directory: Path, depth: int) -> Iterator[Path]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST and entry.name not in _SKIPPED and not entry.name.startswith("."):
                yield from _walk(Path(entry.path), depth + 1)
        elif entry.name.startswith("bench_") and entry.name.endswith(".py"):
            yield Path(entry.path)


def _read(path: Path) -> BenchFile:
    """What its text tells; the file is not run."""
    try:
        with warnings.catch_warnings():  # about the file's style, which is none of a listing's business
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return BenchFile(path=path)
    about = (ast.get_docstring(tree) or "").partition("\n")[0]
    return BenchFile(path=path, suites=_suite_names(tree), about=about)


def _suite_names(tree: ast.Module) -> tuple[str, ...]:
    """Names in calls of `Suite("...")`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "Suite"]
    names = [
        argument
        for call in calls
        for argument in (*call.args[:1], *(word.value for word in call.keywords if word.arg == "name"))
    ]
    return tuple(
        name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)
    )


def _called(call: ast.Call) -> str | None:
    """The last name of `Suite(...)` or `stepmark.Suite(...)`."""
    return getattr(call.func, "id", None) or getattr(call.func, "attr", None)
