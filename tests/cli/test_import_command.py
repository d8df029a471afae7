"""`import`, then `export` and `runs`: a file goes in and comes out byte for byte, or nothing goes in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from stepmark.cli.export_command import command as export_command
from stepmark.cli.import_command import command as import_command
from stepmark.cli.runs_command import command as runs_command
from stepmark.errors import StepmarkError, UsageError
from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.lines import encode
from stepmark.published.catalogue import PUBLICATIONS, text_of
from stepmark.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "runs.db")


def invoke(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False, env={"COLUMNS": "80"})


def import_file(store: str, file: Path, *options: str) -> str:
    """The new id."""
    done = invoke(import_command, str(file), "--store", store, *options)
    assert done.exit_code == 0
    return done.output.split()[0]


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_a_file_comes_out_as_it_went_in(store: str, tmp_path: Path, name: str) -> None:
    data = encode(text_of(name))
    file = tmp_path / PUBLICATIONS[name].file
    file.write_bytes(data)
    id = import_file(store, file)
    format_ = PUBLICATIONS[name].format
    assert invoke(export_command, id, "--store", store, "--format", format_).stdout_bytes == data
    assert invoke(export_command, id, "--store", store).stdout_bytes == data
    out = tmp_path / "out"
    assert invoke(export_command, file.name, "--store", store, "-o", str(out)).exit_code == 0
    assert out.read_bytes() == data


def test_bytes_that_are_no_text_come_out_too(store: str, tmp_path: Path) -> None:
    data = b"\xff\xfe\x00noise\r\nalloc                   time:   [1.0000 ms 1.1000 ms 1.2000 ms]\n"
    file = tmp_path / "run.log"
    file.write_bytes(data)
    id = import_file(store, file, "--name", "nightly")
    assert invoke(export_command, "nightly", "--store", store).stdout_bytes == data
    records = json.loads(invoke(export_command, id, "--store", store, "--format", "json").output)
    assert records["name"] == "nightly"
    assert records["document"]["type"] == "criterion"


def test_the_list_of_runs_has_imports_too(store: str, tmp_path: Path) -> None:
    file = tmp_path / "training_run2.txt"
    file.write_bytes(encode(text_of("lora")))
    id = import_file(store, file)
    shown = invoke(runs_command, "--store", store).output
    assert id in shown
    assert "training_run2.txt" in shown
    assert "criterion" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_it_says_what_was_read(store: str, tmp_path: Path) -> None:
    file = tmp_path / "lora.txt"
    file.write_bytes(encode(text_of("lora")))
    done = invoke(import_command, str(file), "--store", store)
    assert done.output.endswith("lora.txt: criterion, 217 lines, 3 kept as text\n")


def test_a_broken_file_is_refused_whole(store: str, tmp_path: Path) -> None:
    file = tmp_path / "cut.txt"
    file.write_text("\n".join(text_of("fragmented").split("\n")[:200]))
    with pytest.raises(BrokenFile, match=r"cut\.txt, line 201: expected"):
        invoke(import_command, str(file), "--store", store)
    assert not Path(store).exists()


def test_a_format_that_the_text_is_not_in(store: str, tmp_path: Path) -> None:
    file = tmp_path / "lora.txt"
    file.write_bytes(encode(text_of("lora")))
    with pytest.raises(BrokenFile, match="no table"):
        invoke(import_command, str(file), "--store", store, "--format", "grid")
    with pytest.raises(UsageError, match="no format that can be read"):
        invoke(import_command, str(file), "--store", store, "--format", "csv")


def test_a_bundle_is_told_where_it_goes(store: str, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl.gz"
    file.write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(StepmarkError, match=r"run\.jsonl\.gz is compressed") as caught:
        invoke(import_command, str(file), "--store", store)
    assert "serve --allow-upload" in caught.value.remedy


def test_a_file_that_is_not_there(store: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read") as caught:
        invoke(import_command, str(tmp_path / "none.txt"), "--store", store)
    assert caught.value.remedy


def test_an_import_has_no_other_format(store: str, tmp_path: Path) -> None:
    file = tmp_path / "lora.txt"
    file.write_bytes(encode(text_of("lora")))
    id = import_file(store, file)
    with pytest.raises(UsageError, match="is criterion, which cannot be written as csv"):
        invoke(export_command, id, "--store", store, "--format", "csv")
    with pytest.raises(StepmarkError, match="cannot write"):
        invoke(export_command, id, "--store", store, "-o", "/dev/null/x")


def test_an_import_is_no_run(store: str, tmp_path: Path) -> None:
    file = tmp_path / "lora.txt"
    file.write_bytes(encode(text_of("lora")))
    import_file(store, file)
    with pytest.raises(UsageError, match="no runs yet"):
        invoke(export_command, "latest", "--store", store)
    with Store.open(f"sqlite:///{store}") as opened:
        assert opened.heads(None) == ()
