"""Mounts that only one command sees: a small disk, a read-only one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def private_mount(mount: str, directory: Path) -> tuple[str, ...]:
    """What to put before a command so that it runs after `mount`, a shell line where $D is the directory."""
    unshare = shutil.which("unshare")
    prefix = (
        unshare or "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'D="$1"; shift; {mount} && exec "$@"',
        "sh",
        str(directory),
    )
    if unshare is None or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount, not even in a namespace of their own")
    return prefix
