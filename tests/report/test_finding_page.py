"""Pages of findings on a terminal: nothing is lost, and every line fits."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from stepmark.audit import MEANINGS
from stepmark.audit.page import page_of
from stepmark.records.finding import FindingName
from stepmark.report.finding_page import finding_list, finding_page
from tests.report.golden_files import check_golden

PAGE = """# a-name

One sentence that says
what it means.

## Heading

- the first item, which is long enough to be wrapped where the console is narrow
- the second

```python
if True:

    pass
```

## Another

The end.
"""


def test_a_page() -> None:
    check_golden("finding_page.txt", finding_page(PAGE).text(width=40))


@pytest.mark.parametrize("name", FindingName)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_page_fits_and_is_whole(name: FindingName, width: int) -> None:
    text = finding_page(page_of(name)).text(width=width)
    assert max(map(cell_len, text.splitlines())) <= max(width, 80)
    words = re.sub(r"^(#+|```\w*)", "", page_of(name), flags=re.MULTILINE).split()
    assert text.split() == words


def test_the_list_has_every_name() -> None:
    text = finding_list(MEANINGS).text()
    assert all(name in text for name in FindingName)
    assert max(map(cell_len, text.splitlines())) <= 80
