"""Real histograms: how many people hold each value in columns of public data sets."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from murmurs.boundary.reading import refuse, rows
from murmurs.numerics.arrays import Integers

SOURCES = {
    "statlog": "Statlog (Australian Credit Approval), UCI",
    "adult": "Adult, training part, UCI",
    "acs": "American Community Survey, persons: Massachusetts 2015-2018; INDP: NIST excerpt 2019",
    "web": "MSWeb (UCI), Kosarak's 128 commonest pages, clicks on 1.usa.gov links",
    "other": "Flights from New York 2013, apps of the Play Store",
}
"""The files of the package, and where their counts come from."""

CENSUS = {"Military": 5, "Rvetserv": 12, "Race": 63, "PoB": 283}
"""The columns of USCensus1990 that lezia2020 uses, and their numbers of values."""


@cache
def histograms(source: str) -> dict[str, Integers]:
    """Return the columns of a data set, each with the number of people for each value.

    >>> histograms("statlog")["A4"]
    array([525, 163,   2])
    """
    found: dict[str, list[int]] = {}
    path = files("murmurs.papers") / "data" / f"{source}.csv"
    for column, _, people in list(csv.reader(path.read_text("utf-8").splitlines()))[1:]:
        found.setdefault(column, []).append(int(people))
    return {column: np.array(people) for column, people in found.items()}


def read_census(path: Path) -> dict[str, Integers]:
    """Return the histograms of USCensus1990 from the public file of persons.

    The file has one person per line, cells separated by commas or tabs, and a first line with the
    names of the columns. The raw file has no such line: put it in front, from its list of
    attributes.
    """
    delimiter = "\t" if "\t" in _first_line(path) else ","
    counts: dict[str, dict[str, int]] = {name: {} for name in CENSUS}
    places: dict[str, int] = {}
    for line, row in rows(path, delimiter=delimiter):
        if not places:
            there = {name.strip().casefold(): place for place, name in enumerate(row)}
            missing = [name for name in CENSUS if name.casefold() not in there]
            if missing:
                refuse(
                    path,
                    line,
                    f"there is no column {missing[0]}: the first line must name the columns, "
                    f"{', '.join(CENSUS)} among them",
                )
            places = {name: there[name.casefold()] for name in CENSUS}
            continue
        for name, place in places.items():
            if place >= len(row):
                refuse(path, line, f"there are {len(row)} cells, and {name} is number {place + 1}")
            value = row[place].strip()
            counts[name][value] = counts[name].get(value, 0) + 1
    found = {name: np.array(sorted(own.values(), reverse=True)) for name, own in counts.items()}
    for name, people in found.items():
        if len(people) < 2:
            raise ValueError(f"{path}: column {name} has {len(people)} values, not at least two")
    return found


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(10**6)
