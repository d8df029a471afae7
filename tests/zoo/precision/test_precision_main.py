"""What `python -m stepmark.zoo.precision` shows."""

from __future__ import annotations

from stepmark.zoo.precision import EXPERIMENTS, PUBLISHED
from stepmark.zoo.precision.__main__ import places, sums


def test_every_experiment_is_shown_with_what_was_published_and_its_reason() -> None:
    lines = list(sums())
    assert len(lines) == 2 * len(EXPERIMENTS)
    for name, result in PUBLISHED.items():
        place = next(number for number, line in enumerate(lines) if line.startswith(f"{name}: "))
        assert lines[place].endswith(f"(published: {result})")
        assert "off by" in lines[place + 1]


def test_the_table_has_a_row_for_every_format_seen_and_the_published_one() -> None:
    head, *rows = [line.split() for line in places()]
    assert head == ["device", "autocast", "parameters", "first_layer", "norm", "logits", "loss", "gradients"]
    assert [row[2] for row in rows[:3]] == ["none", "float16", "bfloat16"]
    assert rows[-1][:2] == ["published", "cuda"]
    assert {len(row) for row in rows} == {9}
