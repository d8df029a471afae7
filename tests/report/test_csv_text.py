"""Cells of CSV: whatever users call things, a row stays a row and a text stays a text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.records.case import Case
from stepmark.records.comparison import Comparison
from stepmark.records.outcome import Cause, Outcome, Stage
from stepmark.report import comparison_csv, csv_table
from stepmark.report.csv_text import as_cell
from tests.report.builder import Lane, cells, failure, make_judgement, outline
from tests.report.comparison_examples import normal
from tests.support.properties import steady

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
texts = st.text(max_size=30) | st.text('=+-@,;"|\r\n\t<>$\\ x\u2028', max_size=30)


@steady
@given(st.lists(texts, min_size=1, max_size=5))
def test_a_reader_gets_the_cells_that_were_written(given_ones: list[str]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerow([*map(as_cell, given_ones), "last"])
    (row,) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert row == [*map(as_cell, given_ones), "last"]
    for text, cell in zip(given_ones, row, strict=False):
        assert not cell.startswith(FORMULAS)
        assert cell.removeprefix("'").replace("\n", "") == text.removeprefix("'").replace("\n", "").replace(
            "\r", ""
        )


@pytest.mark.parametrize(
    ("value", "cell"),
    [(True, "true"), (False, "false"), (None, ""), (-1.5e-9, "-1.5e-09"), (3, "3"), ("dense", "dense")],
)
def test_numbers_and_names_are_left_as_they_are(value: str | float | None, cell: str) -> None:
    assert as_cell(value) == cell


@steady
@given(texts, texts)
def test_a_report_has_a_row_for_each_case(name: str, message: str) -> None:
    broken = failure(Outcome.CRASHED, Cause.EXCEPTION, Stage.BUILD, message)
    axes = {name: (name,)}
    (cell,) = cells("mylayer", axes)
    lanes = {"dense": Lane(times={"step": 1.0}), name: Lane(failure=broken)}
    text = csv_table.render(make_judgement([(outline("mylayer", (*lanes,), axes), {cell: lanes})]))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 1 + len(lanes)
    assert len({len(row) for row in rows}) == 1
    assert not any(each.startswith(FORMULAS) and not _is_number(each) for row in rows for each in row)


@steady
@given(texts)
def test_so_has_a_comparison(name: str) -> None:
    compared: Comparison = normal()
    first = compared.cases[0]
    renamed = replace(first, case=Case(variant=name, cell=replace(first.case.cell, suite=name)))
    text = comparison_csv.render(replace(compared, cases=(renamed,)))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 1 + len(renamed.phases)
    assert not any(each.startswith(FORMULAS) and not _is_number(each) for row in rows for each in row)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
