"""The charts of the GPU page: drawn from the data, on the page, and readable without a network."""

from __future__ import annotations

import pytest

from benchmarks.h200.charts import CHARTS, FIGURES, styled
from benchmarks.h200.page import PAGE


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_stands_on_the_page(name: str) -> None:
    drawn = (FIGURES / f"{name}.svg").read_text()
    assert drawn.startswith("<svg")
    assert f"(figures/{name}.svg)" in PAGE.read_text()
    assert "http" not in drawn.replace("http://www.w3.org", "")


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_was_drawn_from_these_data(name: str) -> None:
    """Texts are placed by the fonts of a machine, so titles are compared and not the whole file."""
    spec = styled(CHARTS[name]()).to_dict()
    assert spec["title"]["text"] in (FIGURES / f"{name}.svg").read_text().replace("&#39;", "'")
