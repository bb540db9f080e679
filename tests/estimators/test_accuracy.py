"""The page about accuracy is made of what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import accuracy

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_page_is_made_of_what_was_measured() -> None:
    parts = json.loads((RESULTS / "accuracy.json").read_text(encoding="utf-8"))
    assert (RESULTS / "accuracy.md").read_text(encoding="utf-8") == accuracy.page(parts)
