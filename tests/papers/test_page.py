"""The page about the papers: what is about our default stands apart, and is counted apart."""

from __future__ import annotations

import numpy as np
from benchmarks import papers as written

from murmurs import __version__
from murmurs.studies.measured import Series, Table
from murmurs_papers import chosen
from murmurs_papers.findings import claim
from murmurs_papers.ours import ours
from murmurs_papers.reproducing import Reproduction


def test_the_page_counts_and_shows_our_default_apart() -> None:
    [experiment] = chosen(["kairouz2016-proposition5"])
    findings = (
        claim("a", "yes", "yes", True),
        claim("b", "yes", "no", False, why="A misprint."),
        ours("c", "k-RR, 0.2", "0.1", [(0.5, 0.1)]),
        ours("d", "k-RR, 0.2", "0.4", [(2.0, 0.1)], why="It learns little."),
    )
    made = Reproduction(experiment, "full", 0, Table([]), findings, 1.0)
    page = written.page({experiment.name: made}, "It took a second.")
    assert "2 numbers and sentences of the papers were compared: 1 agree, 1 differ for" in page
    assert "Of 2 comparisons: 1 ahead, 0 close, 0 mixed, 1 behind." in page
    published, _, own = page.partition("| where | beside | found | verdict |")
    assert "| a | yes | yes | agrees |" in published
    assert "| d | k-RR, 0.2 | 0.4 | behind |" in own
    assert "*Why it differs:* A misprint." in own
    assert "*Why our default is not ahead:* It learns little." in own


def test_a_section_can_be_cited_and_stars_are_not_marks() -> None:
    [experiment] = chosen(["pinzon2026-grid"])
    rows = Table([Series({}, {"l1": np.zeros(times)}) for times in (400, 4000)])
    findings = (claim("MLE*", "MLE* is never the worst", "MLE* 0", True),)
    made = Reproduction(experiment, "full", 7, rows, findings, 1.0)
    page = written.page({experiment.name: made}, "")
    assert f"of murmurs {__version__} from the rows" in page
    assert "; full grid, 400 to 4,000 repetitions of a setting, seed 7.\n" in page
    assert "**The grid: is MLE\\* never the worst?** InvN, InvP and MLE\\* of" in page
    assert r"| MLE\* | MLE\* is never the worst | MLE\* 0 | agrees |" in page
