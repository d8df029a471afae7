"""`published`: the list, one result with all that is known of it, and the file itself."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from stepmark.cli.published_command import command
from stepmark.errors import UsageError
from stepmark.interchange.lines import encode
from stepmark.published.catalogue import PUBLICATIONS, text_of
from stepmark.published.defects import defects_of


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False, env={"COLUMNS": "80"})


def test_the_list_names_all_at_80_columns() -> None:
    shown = invoke().output
    assert all(name in shown for name in PUBLICATIONS)
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_one_is_shown_with_source_and_defects_at_80_columns(name: str) -> None:
    done = invoke(name)
    assert done.exit_code == 0
    assert PUBLICATIONS[name].commit in done.output
    assert all(defect.name in done.output for defect in defects_of(name))
    assert [line for line in done.output.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("fragmented", ["1.05", "101.4", "3668.8"]),
        ("switchback", ["time_rowwise", "1.56*", "155"]),
        ("transformer-2", ["100.9 s", "3.62 ms", "36.4", "22.9"]),
        ("lora", ["436.78 µs", "linear 3", "15150", "993", "32768"]),
    ],
)
def test_corrections_are_on_the_page(name: str, figures: list[str]) -> None:
    shown = invoke(name).output
    assert [figure for figure in figures if figure not in shown] == []


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_the_file_comes_out_byte_for_byte(name: str) -> None:
    done = invoke(name, "--format", PUBLICATIONS[name].format)
    assert done.stdout_bytes == encode(text_of(name))


def test_slips() -> None:
    with pytest.raises(UsageError, match="was published as criterion, not as grid"):
        invoke("lora", "--format", "grid")
    with pytest.raises(UsageError, match="no published result 'lorax'"):
        invoke("lorax")
    with pytest.raises(UsageError, match="--format of which result"):
        invoke("--format", "grid")
    with pytest.raises(UsageError, match="no format that can be read"):
        invoke("lora", "--format", "pdf")
