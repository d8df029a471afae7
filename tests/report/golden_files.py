"""Golden files: compare with what is stored, or store it anew.

    STEPMARK_WRITE_GOLDEN=1 python -m pytest tests/report

writes them; read the difference in version control before keeping it.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Fail where the text is not what the file holds."""
    path = GOLDEN / name
    if os.environ.get("STEPMARK_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    stored = path.read_text(encoding="utf-8")
    assert text == stored, f"{path.name} differs; see tests/report/golden_files.py on how to renew it"
