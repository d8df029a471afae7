"""Where charts cannot be drawn: every command that would draw says so before it does anything."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from stepmark.cli import cli
from stepmark.errors import UsageError
from stepmark.store.store import Store
from tests.support.whole_runs import whole_run


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("drawing") / "runs.db"
    with Store.open(f"sqlite:///{place}") as store:
        store.add_recording(whole_run(num_launches=3, num_rounds=4, axes={"features": (8, 16)}))
    return str(place)


@pytest.mark.parametrize(
    "command",
    [
        ("report",),
        ("plot", "--kind", "forest", "-o", "x.svg"),
        ("serve", "--port", "0"),
        ("run", "demo", "--html", "x.html"),
    ],
    ids=lambda command: command[0],
)
def test_what_draws_is_refused_where_docstrings_are_left_out(
    command: tuple[str, ...], store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stepmark.cli.drawing.sys", SimpleNamespace(flags=SimpleNamespace(optimize=2)))
    with pytest.raises(UsageError, match="docstrings"):
        CliRunner().invoke(cli, [*command, "--store", store], catch_exceptions=False, standalone_mode=False)
    assert not list(tmp_path.iterdir())
