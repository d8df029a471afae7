"""A PostgreSQL server for tests: in a folder of its own, on a socket, and gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_OWNER = "postgres"
"""Who runs the server where the tests are run by root, whom it refuses."""


def why_not() -> str:
    """What is missing here; nothing where it can be started."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed"
    if _program("initdb") is None or _program("pg_ctl") is None:
        return "no PostgreSQL server is installed"
    if os.geteuid() == 0 and not _has_owner():
        return f"PostgreSQL is not run by root, and there is no user {_OWNER}"
    return ""


@contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database on a socket; no port is opened."""
    folder = Path(tempfile.mkdtemp(prefix="stepmark-pg-"))
    data = folder / "data"
    if os.geteuid() == 0:
        shutil.chown(folder, _OWNER)
    _run("initdb", "--no-sync", "--auth=trust", f"--username={_OWNER}", "--encoding=UTF8", str(data))
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    try:
        _run("pg_ctl", "--wait", "-D", str(data), "-l", str(folder / "log"), "-o", options, "start")
        yield f"postgresql+psycopg://{_OWNER}@/postgres?host={folder}"
    finally:
        _run("pg_ctl", "--wait", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _run(name: str, *arguments: str) -> None:
    program = _program(name)
    assert program is not None
    owner = _OWNER if os.geteuid() == 0 else None
    subprocess.run(
        [program, *arguments],
        user=owner,
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def _program(name: str) -> str | None:
    """On the path, or where Debian hides it."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(beside[-1]) if beside else None)


def _has_owner() -> bool:
    try:
        pwd.getpwnam(_OWNER)
    except KeyError:
        return False
    return True
