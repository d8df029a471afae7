"""The page about the store names what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepmark.records.run import FORMAT
from stepmark.store import schema
from stepmark.store.location import VARIABLE

_PAGE = (Path(__file__).parents[2] / "docs" / "store.md").read_text()


@pytest.mark.parametrize("name", [*schema.metadata.tables, schema.REVISION_TABLE, VARIABLE])
def test_every_table_and_the_variable_are_on_the_page(name: str) -> None:
    assert f"`{name}`" in _PAGE


def test_the_histories_are_up_to_date() -> None:
    assert f"| {schema.REVISION} |" in _PAGE
    assert f"| {FORMAT} |" in _PAGE
