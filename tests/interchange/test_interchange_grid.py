"""Documents with grid tables: numbers come out as tabulate draws them, everything else as it was."""

from __future__ import annotations

import pytest
from hypothesis import given

from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.grid import GridDocument, parse, render
from stepmark.interchange.lines import Text
from tests.interchange.documents import damaged, grid_documents, survives
from tests.support.properties import steady

TABLE = """\
+--------+----------+
| name   |     time |
+========+==========+
| small  | 0.023281 |
+--------+----------+
| large  | 1.5      |
+--------+----------+
"""


@steady
@given(grid_documents)
def test_a_document_comes_back(document: GridDocument) -> None:
    assert parse(render(document), "a.md") == document


@steady
@given(damaged(grid_documents.map(render)))
def test_a_damaged_text_comes_back_or_is_refused(text: str) -> None:
    survives(text, lambda: render(parse(text, "a.md")))


def test_a_table_is_numbers() -> None:
    (table,) = parse(f"prose\n{TABLE}more\n", "a.md").tables
    assert table.headers == ("name", "time")
    assert table.column("time") == (0.023281, 1.5)
    assert table.column("name") == ("small", "large")


@pytest.mark.parametrize(
    "other",
    [
        TABLE.replace("0.023281", "0.02328 "),  # not aligned at the point
        TABLE.replace("small ", "smäll "),  # how wide is it? others may see it otherwise
        "+----+\n| a  |\n| b  |\n+----+\n",  # rows without lines between them
        "+----+\n",
    ],
)
def test_what_tabulate_would_draw_otherwise_is_kept_as_text(other: str) -> None:
    document = parse(f"{TABLE}\n{other}", "a.md")
    assert len(document.tables) == 1
    assert isinstance(document.parts[-1], Text)
    assert render(document) == f"{TABLE}\n{other}"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("prose\n", 1, "no table"),
        (f"\n{TABLE.replace('| large  | 1.5      |', '| large | 1.5      |')}", 7, "does not fit its table"),
        (f"\n{TABLE.rsplit('+--------+', 1)[0]}", 7, "a table ends without its last line"),
        (TABLE.replace("| small  | 0.023281 |", "| small  x 0.023281 |"), 4, "does not fit its table"),
    ],
)
def test_broken_tables_name_the_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(BrokenFile, match=problem) as caught:
        parse(text, "a.md")
    assert caught.value.line == line
