"""Real histograms: how many people hold each value in columns of public data sets."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np

from murmurs.numerics.arrays import Integers

SOURCES = {
    "statlog": "Statlog (Australian Credit Approval), UCI",
    "adult": "Adult, training part, UCI",
    "acs": "American Community Survey, persons: Massachusetts 2015-2018; INDP: NIST excerpt 2019",
    "web": "MSWeb (UCI), Kosarak's 128 commonest pages, clicks on 1.usa.gov links",
    "other": "Flights from New York 2013, apps of the Play Store",
}
"""The files of the package, and where their counts come from."""


@cache
def histograms(source: str) -> dict[str, Integers]:
    """Return the columns of a data set, each with the number of people for each value.

    >>> histograms("statlog")["A4"]
    array([525, 163,   2])
    """
    found: dict[str, list[int]] = {}
    path = files("murmurs_papers") / "data" / f"{source}.csv"
    for column, _, people in list(csv.reader(path.read_text("utf-8").splitlines()))[1:]:
        found.setdefault(column, []).append(int(people))
    return {column: np.array(people) for column, people in found.items()}
