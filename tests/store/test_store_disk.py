"""Disks that are full or read-only, for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepmark.store.store import Store
from tests.store.processes import run
from tests.store.programs import launch
from tests.support.mounts import private_mount
from tests.support.recordings import make_run

pytestmark = [pytest.mark.process, pytest.mark.beside]


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/results.db"
    failed, after = run("fill", 600_000, url)
    assert "cannot be read or written: disk I/O error" in failed["problem"]
    assert "free space" in failed["remedy"]
    assert after == {"readable": failed["acknowledged"], "ordered": True}
    with Store.open(url) as store:
        num_stored = failed["acknowledged"]
        assert num_stored > 5
        assert store.load("run").launches == tuple(map(launch, range(num_stored)))
        store.append("run", launch(num_stored))


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    inside = private_mount('mount -t tmpfs -o size=1m tmpfs "$D"', tmp_path)
    failed, after = run("fill", 0, f"sqlite:///{tmp_path}/results.db", inside=inside)
    assert failed["problem"] == f"no space left for {tmp_path}/results.db"
    assert failed["remedy"] == "free some space; what was stored before is safe"
    assert failed["acknowledged"] > 5
    assert after == {"readable": failed["acknowledged"], "ordered": True}


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/results.db") as store:
        store.begin(make_run())
    inside = private_mount('mount --bind "$D" "$D" && mount -o remount,ro,bind "$D"', tmp_path)
    places = [f"{tmp_path}/results.db", f"{tmp_path}/new.db", f"{tmp_path}/below/new.db"]
    results = run("attempt", *(f"sqlite:///{place}" for place in places), inside=inside)
    assert [result["problem"] for result in results] == [
        f"{places[0]} is read-only or on a read-only disk",
        f"{places[0]} is read-only or on a read-only disk",
        f"{places[1]} is read-only or on a read-only disk",
        f"no runs yet: there is no store at {places[1]}",
        f"the directory {tmp_path}/below cannot be made: Read-only file system",
        f"no runs yet: there is no store at {places[2]}",
    ]
    assert "copy" in results[0]["remedy"]
