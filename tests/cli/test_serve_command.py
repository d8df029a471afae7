"""`serve` as a user meets it: addresses, tokens, mistakes; once as a real process that answers and stops."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from stepmark.cli import cli
from stepmark.cli.serve_command import tokens_for
from stepmark.errors import StepmarkError
from stepmark.records.run import Recording
from stepmark.store.store import Store
from stepmark.web.server import address_of, listen
from tests.support.commands import CommandLine
from tests.support.properties import steady
from tests.support.served import served_run

TOKEN = "read-read-read-read-read"


def test_this_machine_needs_no_token_and_others_do() -> None:
    assert tokens_for("127.0.0.1", token=None, allow_upload=False, write_token=None).read is None
    made = tokens_for("0.0.0.0", token=None, allow_upload=False, write_token=None)
    assert made.read is not None
    assert len(made.read) > 40
    assert made.write is None
    given = tokens_for("localhost", token=TOKEN, allow_upload=True, write_token=None)
    assert given.read == TOKEN
    assert given.write not in (None, TOKEN)


@steady
@given(st.ip_addresses().map(str))
def test_every_address_that_others_can_reach_has_a_token(host: str) -> None:
    import ipaddress

    tokens = tokens_for(host, token=None, allow_upload=False, write_token=None)
    assert (tokens.read is None) == ipaddress.ip_address(host).is_loopback


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--token", "short"), "could be guessed"),
        (("--token", "has spaces in it, sadly"), "cannot carry"),
        (("--allow-upload", "--token", TOKEN, "--write-token", TOKEN), "are the same"),
        (("--host", "no.such.host.invalid"), "no address of this machine"),
        (("--store", "nowhere.db"), "no runs yet"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    store = tmp_path / "runs.db"
    Store.open(f"sqlite:///{store}").close()
    with pytest.raises(StepmarkError, match=said):
        CliRunner().invoke(
            cli,
            ["serve", "--store", str(store), "--port", "0", *arguments],
            catch_exceptions=False,
            standalone_mode=False,
            env={"STEPMARK_TOKEN": None, "STEPMARK_WRITE_TOKEN": None},
        )


def test_a_port_that_is_taken_is_told() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert address_of(taken) == f"http://127.0.0.1:{port}"
        with pytest.raises(StepmarkError, match=f"127.0.0.1:{port}"):
            listen("127.0.0.1", port)


def test_addresses_of_both_kinds() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        listening = listen("::1", 0)
    except StepmarkError:
        pytest.skip("no IPv6 here")
    with listening:
        assert address_of(listening).startswith("http://[::1]:")


def started(process: subprocess.Popen[str]) -> dict[str, str]:
    """What the server prints: its address, and the tokens it made."""
    assert process.stdout is not None
    said: dict[str, str] = {}
    for line in process.stdout:
        if found := re.search(r"serving .* at (http://\S+)", line):
            said["address"] = found[1]
        if found := re.search(r"token to (\w+): +(\S+)", line):
            said[found[1]] = found[2]
        if "Ctrl-C" in line:
            return said
    raise AssertionError(process.stderr.read() if process.stderr else "")


def exported(stepmark: CommandLine, recording: Recording) -> bytes:
    """As CI does it: from a store of its own into a file."""
    with Store.open(f"sqlite:///{stepmark.home / 'ci.db'}") as store:
        store.add_recording(recording)
    done = stepmark("export", "latest", "--store", "ci.db", "--format", "bundle", "--output", "run.jsonl.gz")
    assert done.returncode == 0, done.stderr
    return (stepmark.home / "run.jsonl.gz").read_bytes()


@pytest.mark.process
@pytest.mark.beside
def test_it_serves_takes_an_upload_logs_no_secret_and_stops(tmp_path: Path) -> None:
    stepmark = CommandLine(home=tmp_path, extra={"XDG_CACHE_HOME": str(Path.home() / ".cache")})
    process = stepmark.start(
        *("serve", "--host", "0.0.0.0", "--port", "0", "--allow-upload", "--access-log", "--store", "runs.db")
    )
    try:
        said = started(process)
        address = said["address"].replace("0.0.0.0", "127.0.0.1")
        reading = {"Authorization": f"Bearer {said['read']}"}
        assert httpx.get(f"{address}/api/runs").status_code == 401
        assert httpx.get(f"{address}/api/runs", params={"token": said["read"]}).status_code == 401
        assert httpx.get(f"{address}/api/runs", headers=reading).json() == {"heads": [], "total": 0}
        recording = served_run(1)
        uploaded = httpx.post(
            f"{address}/api/runs",
            content=exported(stepmark, recording),
            headers={"Authorization": f"Bearer {said['upload']}"},
        )
        assert uploaded.status_code == 201
        page = httpx.get(f"{address}/runs/{recording.run.id}", headers=reading)
        assert page.status_code == 200
        assert "server" not in page.headers
        assert httpx.get(f"{address}/api/runs", headers=reading).json()["total"] == 1
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "stopped" in out
    assert "POST /api/runs 201" in err
    assert said["read"] not in err
    assert said["upload"] not in err
    assert not stepmark.leftovers()


@pytest.mark.process
@pytest.mark.beside
def test_the_server_never_imports_torch_and_a_term_signal_stops_it(tmp_path: Path) -> None:
    import psutil

    with Store.open(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        store.add_recording(served_run(1))
    stepmark = CommandLine(home=tmp_path, extra={"XDG_CACHE_HOME": str(Path.home() / ".cache")})
    process = stepmark.start("serve", "--port", "0", "--store", "runs.db")
    try:
        said = started(process)
        for path in ("/", "/runs/latest", "/machines", "/api/runs/latest", "/history"):
            assert httpx.get(said["address"] + path, follow_redirects=True, timeout=60).status_code == 200
        maps = [each.path for each in psutil.Process(process.pid).memory_maps()]
        assert not [path for path in maps if "libtorch" in path]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0
