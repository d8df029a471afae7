"""A sitting at a card that is there for minutes: the plan's commands in order, as many as the time holds.

    python -m benchmarks.h200.sitting --list
    python -m benchmarks.h200.sitting [--seconds 560] [--after NAME] [--only NAME ...]

Every command has a limit of its own and a process group that ends with it. What it saves goes to a folder of
the sitting's own, of which one file is packed anew after each command, `sitting.tar.gz` in the folder OUT
(else in build/): a sitting that is cut off leaves what came before. `sitting.jsonl` in it says what ran, how
it ended and how long it took, `NAME.log` what it printed. A command for which too little time is left is not
begun, and the next shorter one is.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.h200.sitting_plan import PLAN, Item

LAST_LINES = 3
"""Of a command's output, shown when it ends."""
ARCHIVE = "sitting.tar.gz"
BROUGHT = {".json", ".jsonl", ".log", ".gz"}
"""Stores stay behind: their runs are exported."""


class Ended(NamedTuple):
    """How a command of the plan ended."""

    name: str
    code: int | None
    """None where its limit was over."""
    seconds: float


def chosen(plan: Sequence[Item], after: str | None, only: Sequence[str]) -> list[Item]:
    names = [item.name for item in plan]
    unknown = [name for name in (*only, *([after] if after else [])) if name not in names]
    if unknown:
        raise SystemExit(f"not in the plan: {', '.join(unknown)}. The plan: {', '.join(names)}")
    begin = names.index(after) + 1 if after else 0
    return [item for item in plan[begin:] if not only or item.name in only]


def perform(item: Item, folder: Path, limit: float) -> Ended:
    """Run to its end, or to the limit; its output goes to NAME.log."""
    began = time.monotonic()
    environment = {
        **os.environ,
        "OUT": str(folder),
        "STEPMARK_CHOICES": str(folder / "choices.json"),
        "PYTHONUNBUFFERED": "1",
    }
    with (folder / f"{item.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *item.words.split()],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
    return Ended(item.name, code, time.monotonic() - began)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """And whatever it started: the next command is to be alone on the card."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def pack(folder: Path, archive: Path) -> None:
    """What was saved in one file, written beside the old one and then put in its place."""
    fresh = archive.with_name(f"{archive.name}.new")
    with tarfile.open(fresh, "w:gz") as packed:
        for file in sorted(folder.iterdir()):
            if file.suffix in BROUGHT:
                packed.add(file, arcname=file.name)
    fresh.replace(archive)


def sit(plan: Iterable[Item], folder: Path, archive: Path, seconds: float) -> list[Ended]:
    """The plan's commands one after the other, until the time is over."""
    deadline = time.monotonic() + seconds
    ended: list[Ended] = []
    for item in plan:
        left = deadline - time.monotonic()
        if left < item.least:
            print(f"left: {item.name} ({item.least:.0f} s at least, {left:.0f} are there)", flush=True)
            continue
        print(f"{item.name}: {item.told}", flush=True)
        ended.append(perform(item, folder, min(left, item.seconds)))
        _note(ended[-1], folder)
        pack(folder, archive)
    return ended


def _note(ended: Ended, folder: Path) -> None:
    with (folder / "sitting.jsonl").open("a") as record:
        record.write(json.dumps(ended._asdict()) + "\n")
    told = "its limit is over" if ended.code is None else f"exit code {ended.code}"
    lines = (folder / f"{ended.name}.log").read_text(errors="replace").splitlines()
    for line in lines[-LAST_LINES:]:
        print(f"  {line}")
    print(f"{ended.name}: {told}, {ended.seconds:.0f} s", flush=True)


def listed(plan: Iterable[Item]) -> str:
    """As the README has it."""
    rows = [f"| {item.name} | `{item.told}` | {item.why} | {item.seconds} s |" for item in plan]
    return "\n".join(["| name | command | why | at most |", "|---|---|---|---|", *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=560.0, help="of the whole sitting; 560 if not given")
    parser.add_argument("--after", metavar="NAME", help="begin behind this command of the plan")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some of the plan")
    parser.add_argument("--list", action="store_true", help="print the plan and end")
    given = parser.parse_args(arguments)
    plan = chosen(PLAN, given.after, given.only)
    if given.list:
        print(listed(plan))
        return 0
    archive = Path(os.environ.get("OUT") or "build") / ARCHIVE
    archive.parent.mkdir(parents=True, exist_ok=True)
    ended = sit(plan, Path(tempfile.mkdtemp(prefix="sitting-")), archive, given.seconds)
    print(f"packed: {archive}")
    return 0 if all(one.code == 0 for one in ended) else 1


if __name__ == "__main__":
    sys.exit(main())
