"""What a user types after `stepmark run`, resolved without running anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepmark.errors import UsageError
from stepmark.records.source import BuiltinSource, FileSource
from stepmark.suites import BUILTIN
from stepmark.suites.targets import bench_files, resolve

BENCH = "import stepmark\nraise SystemExit('this file must not run')\nsuite = stepmark.Suite('mine')\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str = BENCH) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(directory: Path) -> list[str]:
    return [str(bench.path.relative_to(directory)) for bench in bench_files(directory)]


def test_a_file_is_named_absolutely(here: Path) -> None:
    write(here / "bench_mine.py")
    assert resolve("bench_mine.py") == (FileSource(path=str(here / "bench_mine.py")),)


def test_a_file_of_any_name_may_be_named(here: Path) -> None:
    write(here / "speed.py")
    assert resolve("speed.py") == (FileSource(path=str(here / "speed.py")),)


def test_a_suite_of_a_file(here: Path) -> None:
    path = write(here / "sub" / "bench_mine.py")
    assert resolve("sub/bench_mine.py::conv") == (FileSource(path=str(path), suite="conv"),)


def test_a_folder_is_its_bench_files_in_order(here: Path) -> None:
    paths = [write(here / "benches" / name) for name in ("bench_a.py", "bench_b.py", "deep/bench_c.py")]
    write(here / "benches" / "helper.py")
    assert resolve("benches") == tuple(FileSource(path=str(path)) for path in paths)


def test_a_folder_without_bench_files(here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no bench_\*\.py in empty"):
        resolve("empty")


@pytest.mark.parametrize("target", ["bench_\udcff.py", "."])
def test_a_path_that_is_no_text_is_refused_before_anything_starts(here: Path, target: str) -> None:
    Path(os.fsdecode(b"bench_\xff.py")).write_text(BENCH)
    with pytest.raises(UsageError, match="no text"):
        resolve(target)


def test_a_suite_is_chosen_in_a_file_not_in_a_folder(here: Path) -> None:
    write(here / "benches" / "bench_a.py")
    with pytest.raises(UsageError, match="benches is a folder") as caught:
        resolve("benches::mine")
    assert "name the file" in caught.value.remedy


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_a_built_in_suite(name: str) -> None:
    assert resolve(name) == (BuiltinSource(name=name),)


def test_a_folder_without_bench_files_does_not_hide_a_built_in_suite(here: Path) -> None:
    (here / "demo").mkdir()
    assert resolve("demo") == (BuiltinSource(name="demo"),)
    path = write(here / "demo" / "bench_mine.py")
    assert resolve("demo") == (FileSource(path=str(path)),)


@pytest.mark.parametrize(
    ("target", "near"),
    [("dmeo", "demo"), ("bench_mien.py", "bench_mine.py"), ("sub/bench_thee.py", "sub/bench_the.py")],
)
def test_an_unknown_target_names_the_nearest(here: Path, target: str, near: str) -> None:
    write(here / "bench_mine.py")
    write(here / "sub" / "bench_the.py")
    with pytest.raises(UsageError, match=f"no suite or file '{target}'") as caught:
        resolve(target)
    assert near in caught.value.remedy


def test_a_link_to_nowhere_is_not_what_was_meant(here: Path) -> None:
    (here / "bench_mine.py").symlink_to("nowhere.py")
    with pytest.raises(UsageError, match=r"no suite or file 'bench_mine.py'") as caught:
        resolve("bench_mine.py")
    assert "did you mean" not in caught.value.remedy


def test_nothing_near_points_to_the_list() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("qqqqqqqqqqqq")
    assert "stepmark list" in caught.value.remedy


@pytest.mark.parametrize(
    "folder",
    [
        ".hidden",
        ".venv/lib",
        "node_modules/pack",
        "env/site-packages/lib",
        "a/__pycache__",
        "build",
        "dist",
        "1/2/3/4/5",
    ],
)
def test_folders_that_are_not_the_users_code_are_left_out(here: Path, folder: str) -> None:
    write(here / folder / "bench_theirs.py")
    write(here / "a" / "b" / "bench_mine.py")
    assert found(here) == ["a/b/bench_mine.py"]


def test_a_virtual_environment_of_any_name_is_left_out(here: Path) -> None:
    write(here / "my_env" / "pyvenv.cfg", "home = /usr/bin\n")
    write(here / "my_env" / "lib" / "bench_theirs.py")
    assert found(here) == []


def test_a_link_that_leads_back_up_is_not_followed(here: Path) -> None:
    write(here / "bench_mine.py")
    (here / "loop").symlink_to(here)
    assert found(here) == ["bench_mine.py"]


def test_suites_are_read_from_the_text_without_running_it(here: Path) -> None:
    more = "from stepmark import Suite\na = stepmark.Suite('two', axes={})\nb = Suite(name='three')\n"
    write(here / "bench_mine.py", BENCH + more)
    (bench,) = bench_files(here)
    assert sorted(bench.suites) == ["mine", "three", "two"]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ('"""Norms, beside torch\'s own.\n\nMore of it.\n"""\n', "Norms, beside torch's own."),
        ('"""\nNorms.\n"""\n', "Norms."),
        ("# Norms.\n", ""),
        ("x = 'Norms.'\n", ""),
    ],
)
def test_a_file_says_what_it_is_about_in_its_docstring(here: Path, text: str, about: str) -> None:
    write(here / "bench_mine.py", text)
    assert [bench.about for bench in bench_files(here)] == [about]


@pytest.mark.parametrize(
    "text",
    [
        "def (",
        "Suite(some_name)\nSuite()\nSuite(3)\nf()('x')\n",
        "",
        "x = '\\d'  # an escape Python warns about\n",
    ],
    ids=["syntax error", "computed names", "empty", "warning"],
)
def test_names_that_the_text_does_not_say_are_left_out(here: Path, text: str) -> None:
    write(here / "bench_mine.py", text)
    assert [bench.suites for bench in bench_files(here)] == [()]


def test_a_file_that_is_no_text(here: Path) -> None:
    (here / "bench_mine.py").write_bytes(b"\xff\xfe\x00Suite('x')")
    assert [bench.suites for bench in bench_files(here)] == [()]
