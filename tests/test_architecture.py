"""Promises about the tree: what imports what, what is exported, and that the map of it is true."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stepmark

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "stepmark"
MAP = ROOT / "docs" / "architecture.md"
MODULES = sorted(SOURCE.rglob("*.py"))


def first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].rstrip(".")


def tree(folder: Path, indent: str = "") -> list[str]:
    """Files with the first line of what they say about themselves; a package is its folder's line."""
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    folders = sorted(path.parent for path in folder.glob("*/__init__.py"))
    lines = []
    for package in folders:
        lines.append(f"{indent}{package.name + '/':{24 - len(indent)}} {first_line(package / '__init__.py')}")
        lines += tree(package, indent + "  ")
    lines += [f"{indent}{path.name:{24 - len(indent)}} {first_line(path)}" for path in files]
    return lines


def test_the_map_shows_every_file_with_its_own_words() -> None:
    """Renew it with STEPMARK_WRITE_GOLDEN=1."""
    drawn = "```\n" + "\n".join(tree(SOURCE)) + "\n```"
    text = MAP.read_text()
    start = text.index("```\n", text.index("## The tree"))
    end = text.index("\n```", start + 4) + 4
    if os.environ.get("STEPMARK_WRITE_GOLDEN"):
        MAP.write_text(text[:start] + drawn + text[end:])
    else:
        assert text[start:end] == drawn


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_in_a_line_what_it_is(path: Path) -> None:
    assert first_line(path)


ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_its_tests_in_the_mirrored_tree(room: str) -> None:
    assert list((ROOT / "tests" / room).glob("test_*.py"))


def test_exports_are_what_is_promised() -> None:
    assert set(stepmark.__all__) == {*stepmark._HOME, "__version__"}
    for name in stepmark.__all__:
        assert getattr(stepmark, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Sweet'"):
        stepmark.Sweet  # noqa: B018


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import stepmark", ("torch", "numpy", "msgspec", "click", "sqlalchemy")),
        ("import stepmark; stepmark.Suite", ("torch", "numpy", "sqlalchemy")),
        ("import sys; sys.argv[1:] = ['--help']; import runpy; runpy.run_module('stepmark')", (
            "torch", "numpy", "scipy", "sqlalchemy", "rich", "msgspec"
        )),
        ("import sys; sys.argv[1:] = ['list']; import runpy; runpy.run_module('stepmark')", (
            "torch", "numpy", "scipy", "sqlalchemy"
        )),
        ("import sys; sys.argv[1:] = ['run', '--help']; import runpy; runpy.run_module('stepmark')", (
            "torch", "numpy", "scipy", "sqlalchemy"
        )),
        ("import stepmark.cli.measuring", ("torch",)),
    ],
)  # fmt: skip
def test_what_an_import_may_pull_in(code: str, forbidden: tuple[str, ...], tmp_path: Path) -> None:
    script = (
        "import sys\n"
        f"try:\n    exec({code!r})\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"found = [name for name in {forbidden!r} if name in sys.modules]\n"
        "assert not found, found\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_functions_fit_on_a_screen_and_files_in_a_sitting() -> None:
    long_files = [str(path) for path in MODULES if path.read_text().count("\n") > 300]
    long_functions = [
        f"{path}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 60
    ]
    assert long_files + long_functions == []
