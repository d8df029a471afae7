"""The table of docs/audit.md: mistakes, findings, and what the peers said; and both counts above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.audit.gallery import Mistake
from benchmarks.audit.peers import PeerWords, triton_says
from benchmarks.audit.trial import Correct, Outcome

BEGIN, END = "<!-- begin: gallery table -->", "<!-- end: gallery table -->"


def counts(outcomes: Sequence[Outcome], correct: Sequence[Correct]) -> str:
    """Both numbers, a line each."""
    caught = sum(outcome.caught for outcome in outcomes)
    errors = sum(len(one.errors) for one in correct)
    return f"caught {caught} of {len(outcomes)}\n{errors} errors over {len(correct)} correct benchmarks"


def table(outcomes: Sequence[Outcome], peers: Mapping[str, PeerWords], not_run: Sequence[Mistake]) -> str:
    """A row a mistake; what could not run here says so."""
    lines = [
        "| mistake | finding | caught | torch.utils.benchmark | pytest-benchmark | triton.testing |",
        "|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        lines.append(_row(outcome.mistake, "yes" if outcome.caught else "**no**", peers))
    lines += [_row(mistake, f"on {mistake.device} only", peers) for mistake in not_run]
    return "\n".join(lines)


def _row(mistake: Mistake, caught: str, peers: Mapping[str, PeerWords]) -> str:
    words = peers.get(mistake.name)
    said = (words.torch, words.pytest) if words else ("not run", "not run")
    link = f"[{mistake.name.replace('_', ' ')}](gallery.md#{mistake.name.replace('_', '-')})"
    return f"| {link} | {mistake.finding} | {caught} | {' | '.join(said)} | {triton_says(mistake)} |"


def section(
    outcomes: Sequence[Outcome],
    correct: Sequence[Correct],
    peers: Mapping[str, PeerWords],
    not_run: Sequence[Mistake],
) -> str:
    """What stands between the marks."""
    kinds = Counter(one.kind for one in correct)
    made_of = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    return f"{counts(outcomes, correct)} ({made_of}).\n\n{table(outcomes, peers, not_run)}"


def insert(path: Path, text: str) -> None:
    """Between the marks of the page."""
    page = path.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
