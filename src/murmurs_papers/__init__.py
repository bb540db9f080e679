"""The tables and figures of the papers, run again: one experiment each, listed here by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from murmurs.boundary.checks import shown
from murmurs_papers import (
    fanti2016_bars,
    fanti2016_joint,
    fanti2016_lengths,
    fanti2016_store,
    fanti2016_strings,
    fanti2016_tables,
    fanti2016_tests,
    kairouz2016_decoders,
    kairouz2016_figures,
    kairouz2016_likelihood,
    kairouz2016_risks,
    kairouz2016_slides,
    leaderboard,
    lezia2020_figures,
    lezia2020_tables,
    pinzon2026,
)
from murmurs_papers.experiment import Experiment


def _place(experiment: Experiment) -> tuple[int, str, int]:
    """Return where an experiment stands in the list: by paper, kind and number."""
    kind, number = re.fullmatch(r"\w+-(.*?)(\d*)", experiment.name).groups()  # type: ignore[union-attr]
    return _PAPERS.index(experiment.paper), kind, int(number or 0)


_PAPERS = ("kairouz2016", "fanti2016", "lezia2020", "pinzon2026", "leaderboard")
EXPERIMENTS: tuple[Experiment, ...] = tuple(
    sorted(
        (
            *kairouz2016_decoders.EXPERIMENTS,
            *kairouz2016_figures.EXPERIMENTS,
            *kairouz2016_likelihood.EXPERIMENTS,
            *kairouz2016_risks.EXPERIMENTS,
            *kairouz2016_slides.EXPERIMENTS,
            *fanti2016_bars.EXPERIMENTS,
            *fanti2016_joint.EXPERIMENTS,
            *fanti2016_lengths.EXPERIMENTS,
            *fanti2016_store.EXPERIMENTS,
            *fanti2016_strings.EXPERIMENTS,
            *fanti2016_tables.EXPERIMENTS,
            *fanti2016_tests.EXPERIMENTS,
            *lezia2020_figures.EXPERIMENTS,
            *lezia2020_tables.EXPERIMENTS,
            *pinzon2026.EXPERIMENTS,
            *leaderboard.EXPERIMENTS,
        ),
        key=_place,
    )
)
"""All experiments. To add one, list its file here, and its paper above."""

ALL = "all"


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names; a paper's name, or "all", stands for several.

    >>> [experiment.name for experiment in chosen(["lezia2020-table2"])]
    ['lezia2020-table2']
    """
    found: dict[str, Experiment] = {}
    for name in names:
        several = [e for e in EXPERIMENTS if name in (ALL, e.paper, e.name)]
        if not several:
            known = ", ".join(dict.fromkeys(e.paper for e in EXPERIMENTS))
            raise ValueError(
                f"there is no experiment {shown(name)}: run murmurs reproduce for their names, or "
                f"take one of {known} or all"
            )
        found |= {experiment.name: experiment for experiment in several}
    return list(found.values())
