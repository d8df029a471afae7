"""The page docs/verdicts.md, its figures and the copy of the raw data, all made from the raw data."""

from __future__ import annotations

import gzip
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.verdicts import calibration, charts, evidence, raw_file
from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.results import Session
from benchmarks.verdicts.section import Met, Section
from benchmarks.verdicts.tables import (
    detection,
    doses,
    identical,
    limits,
    means,
    peers,
    separation,
    smallest,
    variance,
)
from stepmark.errors import UsageError

DATA = Path(__file__).parent / "data"
NOTES = "notes.md"
"""In a folder of raw data: what a reader must know about how they came about."""
LARGE = 1_000_000
"""Bytes: raw files above this are packed."""


def write_report(folders: Sequence[Path], *, docs: Path, data: Path = DATA) -> None:
    """Everything a reader needs to check the page."""
    if len({folder.resolve().name for folder in folders}) < len(folders):
        raise UsageError("two folders have the same name", remedy="rename one: the data are kept by name")
    found = evidence.read(folders)
    figures = docs.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    (figures / f"{docs.stem}-estimates.svg").write_text(charts.estimates(found), encoding="utf-8")
    (figures / f"{docs.stem}-detection.svg").write_text(charts.detection(found), encoding="utf-8")
    notes = [folder / NOTES for folder in folders]
    told = "\n\n".join(note.read_text(encoding="utf-8").strip() for note in notes if note.exists())
    names = [folder.resolve().name for folder in folders]
    docs.write_text(page(found, notes=told, stem=docs.stem, folders=names), encoding="utf-8")
    for folder in folders:
        keep(folder, data / folder.resolve().name)


def page(
    found: Evidence, *, notes: str = "", stem: str = "verdicts", folders: Sequence[str] = ("NAME",)
) -> str:
    """The whole page as Markdown; its figures begin with `stem`, `folders` are those of its data."""
    sections = [
        identical.section(found),
        detection.section(found),
        smallest.section(found),
        peers.section(found),
        separation.section(found),
        *([] if _is_mixed(found) else [variance.section(found), limits.section(found)]),
        means.section(found),
        doses.section(found),
    ]
    head = _head(found, sections, notes, stem=stem, folders=folders)
    parts = [head, *(section.markdown() for section in sections), _troubles(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(
    found: Evidence, sections: Sequence[Section], notes: str, *, stem: str, folders: Sequence[str]
) -> str:
    met = Counter(demand.met for section in sections for demand in section.demands)
    tally = ", ".join(f"{met[kind]} {kind}" for kind in Met if met[kind])
    return f"""# What the verdicts are worth{_where(found)}

Every number on this page is computed from the raw data in `benchmarks/verdicts/data/` by

```sh
python -m benchmarks.verdicts report --docs docs/{stem}.md \\
{_inputs(folders)}
```

`python -m benchmarks.verdicts all --minutes {_minutes(found):.0f}` calibrates, measures for as long as
these data took, and writes such a page. `pip install -e ".[study]"` installs the peers.

{_paragraphs(_machines(found.sessions), notes)}

The four workloads: layer norm and softmax of 64 x 512; a linear layer of 512 x 512 with a LoRA adapter of
rank 8, forward, 64 tokens; a linear layer of 1024 x 1024, forward and backward, 64 rows; an AdamW step on a
million parameters. *Quiet* means that the study itself ran nothing else on those cores, *bursts* that two
processes on the same cores spin for 1 to 8 s and rest for 1 to 8 s. Conditions ran in random order, round
after round, so that all saw the same hours. Rates have 95 % intervals of Clopper and Pearson in brackets.

Below each table stands what was demanded before measuring, and whether the data meet it:
{tally}.

![Estimates of identical code](figures/{stem}-estimates.svg)

![Detection of injected slowdowns](figures/{stem}-detection.svg)"""


def _inputs(folders: Sequence[str]) -> str:
    return " \\\n".join(f"  --in benchmarks/verdicts/data/{name}" for name in folders)


def _is_mixed(found: Evidence) -> bool:
    """Of several machines: their noise is not one number."""
    return len({session.cpu for session in found.sessions}) > 1


def _where(found: Evidence) -> str:
    """The processor, if it was one."""
    return "" if _is_mixed(found) or not found.sessions else f": {found.sessions[0].cpu}"


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def _minutes(found: Evidence) -> float:
    """From the first to the last line of each session."""
    ends: dict[str, float] = {session.id: session.started for session in found.sessions}
    for comparison in found.comparisons:
        at = comparison.ours.surroundings
        ends[at.session] = max(ends.get(at.session, 0.0), at.started + at.seconds)
    for pair in found.pairs:
        at = pair.visit.surroundings
        ends[at.session] = max(ends.get(at.session, 0.0), at.started + at.seconds)
    return sum(ends[session.id] - session.started for session in found.sessions) / 60.0


def _machines(sessions: Sequence[Session]) -> str:
    lines = []
    for group in _by_machine(sessions).values():
        session = group[0]
        days = sorted({time.strftime("%Y-%m-%d", time.gmtime(each.started)) for each in group})
        versions = " · ".join(f"{name} {version}" for name, version in session.versions.items())
        side_by_side = (
            f", {session.jobs} comparisons side by side, each pinned to its own two cores"
            if session.jobs > 1
            else ""
        )
        lines.append(
            f"- {' and '.join(days)}: {session.cpu}, {session.cores} logical cores, "
            f"{session.memory_bytes / 2**30:.0f} GiB; {session.seconds:g} s a comparison{side_by_side}. "
            f"{versions}"
        )
    return "\n".join(lines)


def _by_machine(sessions: Sequence[Session]) -> dict[tuple[str, int, int], list[Session]]:
    groups: dict[tuple[str, int, int], list[Session]] = {}
    for session in sessions:
        groups.setdefault((session.cpu, session.cores, session.jobs), []).append(session)
    return groups


def _troubles(found: Evidence) -> str:
    if not found.troubles:
        return ""
    counts = Counter((trouble.condition.tool, trouble.message.splitlines()[-1]) for trouble in found.troubles)
    lines = [f"- {tool}: {message} ({num} times)" for (tool, message), num in counts.items()]
    return "\n".join(["## Comparisons that came to nothing", "", *lines])


def keep(folder: Path, place: Path) -> None:
    """Copy raw data and calibration into the repository; a large raw file is packed."""
    raw = folder / raw_file.NAME
    if folder.resolve() == place.resolve() or not raw.exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    for name in (calibration.NAME, NOTES):
        if (folder / name).exists():
            shutil.copyfile(folder / name, place / name)
    content = raw.read_bytes()
    if len(content) > LARGE:
        (place / f"{raw.name}.gz").write_bytes(gzip.compress(content, mtime=0))
        (place / raw.name).unlink(missing_ok=True)
    else:
        (place / raw.name).write_bytes(content)
