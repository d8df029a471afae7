"""Docs are executed: every Python block runs, every option is documented, every link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from stepmark.cli import COMMANDS, cli
from tests.support.commands import QUICK, CommandLine
from tests.support.commands_here import CommandsHere

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text()


@pytest.fixture
def stepmark(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path).knows_ceilings()


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_opens_with_the_two_commands() -> None:
    first = README.split("```")[1]
    assert [line.split("#")[0].strip() for line in first.strip().splitlines()] == ["make demo", "make test"]


def test_ci_runs_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o100
    assert "make test" in script.read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    section = page.partition(f"## stepmark {name}\n")[2].partition("\n## ")[0]
    assert section, f"no section for {name}"
    if name == "versus":
        section += page.partition("## stepmark run\n")[2].partition("\n## ")[0]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert f"`{parameter.opts[0]}" in section, parameter.opts[0]


@pytest.mark.process
@pytest.mark.beside
def test_the_readmes_bench_file_runs(stepmark: CommandLine, tmp_path: Path) -> None:
    (block,) = python_blocks("README.md")
    (tmp_path / "bench_mine.py").write_text(block)
    done = stepmark("run", "bench_mine.py", *QUICK, "--filter", "features == 128 and tokens == 16")
    assert done.returncode == 0, done.stderr
    assert "low_rank" in done.stdout
    assert len([line for line in block.splitlines() if line and not line.startswith("#")]) <= 15


@pytest.mark.process
@pytest.mark.beside
def test_the_first_bench_file_of_getting_started_runs(here: CommandsHere, tmp_path: Path) -> None:
    (block,) = python_blocks("docs/getting-started.md")
    (tmp_path / "bench_norms.py").write_text(block)
    done = here("run", "bench_norms.py", *QUICK, "--set", "features=64")
    assert done.returncode == 0, done.stderr
    assert "rms_norm" in done.stdout


@pytest.mark.process
@pytest.mark.beside
def test_the_bench_file_reference_runs(here: CommandsHere, tmp_path: Path) -> None:
    (tmp_path / "bench_reference.py").write_text("\n".join(python_blocks("docs/bench-files.md")))
    done = here(
        *("run", "bench_reference.py", *QUICK, "--set", "features=16,10001", "--mode", "forward"),
        *("--filter", "suite == 'attention_parts' or bias", "--dtype", "bfloat16", "--launches", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert "attention" in done.stdout
    assert "too wide for this variant" in done.stdout


@pytest.mark.process
@pytest.mark.beside
def test_the_library_example_runs(tmp_path: Path) -> None:
    (block,) = python_blocks("docs/library.md")
    script = tmp_path / "script.py"
    script.write_text(block)
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "widths/bare[features=32]" in done.stdout
    assert (tmp_path / "widths.json").exists()
