"""Where the default loses: the page is what was measured, and what was measured can be repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import corners

DOCS = Path(__file__).parents[2] / "docs"
ROWS: list[dict[str, Any]] = json.loads((DOCS / "results" / "corners.json").read_text())
CELLS = corners.cells(ROWS[0]["repeat"])


def test_every_cell_was_measured() -> None:
    measured = [{name: row[name] for name in cell} for cell, row in zip(CELLS, ROWS, strict=True)]
    assert measured == CELLS


def test_the_page_is_made_of_what_was_measured() -> None:
    assert (DOCS / "results" / "corners.md").read_text(encoding="utf-8") == corners.page(ROWS)


def test_a_cell_measured_again_is_the_same() -> None:
    """The seed is made of the cell; floats may differ in their last digits."""
    wanted = {"k": 10, "law": "equal", "given": 2, "size": 2.0}
    [row] = [row for row in ROWS if wanted.items() <= row.items()]
    again = corners.run_cell({name: row[name] for name in CELLS[0]})
    assert again["n"] == row["n"]
    for part in ("l1", "l2"):
        assert again[part] == pytest.approx(row[part], abs=1e-5)
    # It is in the corner: the default is behind each of the three.
    assert again["l1"]["shrinkage"] > 1.1 * max(again["l1"][name] for name in corners.ORACLE)


def test_the_page_of_the_default_quotes_what_was_measured() -> None:
    text = (DOCS / "estimators" / "shrinkage.md").read_text(encoding="utf-8")
    advice = text[text.index("**Take [`simplex`]") :].partition("\n\n")[0]
    quoted = re.findall(r"\d\.\d\d", advice)
    measured = []
    for line in corners.mean_ratios(ROWS, 1.1).splitlines()[2:]:
        figures = line.strip("| ").split(" | ")
        measured += [figures[2], figures[4]]
    assert corners.METHODS[0] == "shrinkage"
    assert corners.METHODS[2] == "simplex"
    assert sorted(quoted) == sorted(measured)
