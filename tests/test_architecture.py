"""What the pages for contributors say is so: listings, walks, layers and paths are the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.make_architecture import PAGE, ROOT, SOURCE, WALKS, difference, fill, folders

PAGES = [PAGE, ROOT / "CONTRIBUTING.md"]


def test_the_page_lists_layers_folders_and_walks_as_they_are_in_the_code() -> None:
    assert difference() == []


def test_a_listing_that_is_out_of_date_is_made_again() -> None:
    text = "before\n\n<!-- made folders -->\n\nold\n\n<!-- end -->\n\nafter\n"
    made = fill(text)
    assert made.startswith("before\n\n<!-- made folders -->\n\n```text\nmurmurs/  Estimate ")
    assert "\nold\n" not in made
    assert fill(made) == made


def test_the_page_has_all_walks_once() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for walk in WALKS:
        assert text.count(f"<!-- made {walk.__name__} -->\n\n```text\n") == 1


def test_every_file_is_in_a_folder_that_is_listed() -> None:
    files = {path.stem for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert files <= set(folders().split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    paths = re.findall(r"`([\w./-]+/[\w./-]*)`", prose)
    assert len(paths) > 5
    missing = [path for path in paths if not ((SOURCE / path).exists() or (ROOT / path).exists())]
    assert missing == []
