"""The trial from the command line: both counts, what went wrong, and with --write the pages."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.audit import table
from benchmarks.audit.gallery import mistakes
from benchmarks.audit.measuring import BRIEF
from benchmarks.audit.page import page
from benchmarks.audit.peers import record, recorded, words_of_peers
from benchmarks.audit.trial import Correct, Outcome, correct, gallery
from stepmark.engines.local import LocalEngine
from stepmark.store.store import Store

DOCS = Path(__file__).parents[2] / "docs"


@click.command()
@click.option("--peers", is_flag=True, help="Ask the other tools about every mistake anew; some minutes.")
@click.option("--device", default="cpu", show_default=True, help="Mistakes of this device.")
@click.option("--write", is_flag=True, help="Write docs/gallery.md and the table in docs/audit.md.")
def main(*, peers: bool, device: str, write: bool) -> None:
    """Every mistake of the gallery, and every benchmark that has none."""
    engine = LocalEngine(BRIEF)
    try:
        with Store.open("sqlite://") as store:
            outcomes = [_shown(outcome) for outcome in gallery(engine, store, device)]
            fine = [_told(one) for one in correct(engine, store)] if device == "cpu" else []
    finally:
        engine.close()
    if peers:
        record({one.mistake.name: words_of_peers(one.mistake) for one in outcomes})
    words = recorded()
    rest = [mistake for mistake in mistakes() if mistake.device != device]
    print(table.table(outcomes, words, rest))
    print(table.counts(outcomes, fine))
    if write:
        table.insert(DOCS / "audit.md", table.section(outcomes, fine, words, rest))
        (DOCS / "gallery.md").write_text(page(mistakes()), encoding="utf-8")
    if not all(one.caught for one in outcomes) or any(one.errors for one in fine):
        raise SystemExit(1)


def _shown(outcome: Outcome) -> Outcome:
    mistake = outcome.mistake
    if outcome.caught:
        print(f"caught  {mistake.name}: {mistake.finding}", flush=True)
    else:
        found = ", ".join(sorted({one.name for one in outcome.findings})) or "nothing"
        print(f"MISSED  {mistake.name}: {mistake.finding}; found {found}", flush=True)
    return outcome


def _told(one: Correct) -> Correct:
    for finding in one.errors:
        print(f"ERROR   {one.kind}, {one.name}: {finding.name}: {finding.message}", flush=True)
    return one


if __name__ == "__main__":
    main()
