"""USCensus1990: the histograms that lezia2020 uses, from the public file of persons.

The raw file of the UCI archive, USCensus1990raw.data.txt, has a line for each of 2,458,285 persons,
125 cells separated by tabs, and no line of names: its columns are in the alphabetical order of
their names.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NoReturn

import numpy as np

from murmurs.boundary.reading import is_digits, lines, refuse, rows
from murmurs.numerics.arrays import Integers

CENSUS = {"Military": 5, "Rvetserv": 12, "Race": 63, "PoB": 283}
"""The columns that lezia2020 uses, and their numbers of values."""

RAW = "USCensus1990raw.data.txt"
_CELLS = 125
_PLACES = {"Military": 83, "Rvetserv": 108, "Race": 94, "PoB": 89}
"""Where the raw file has these columns, from 0."""


def read_census(path: Path) -> dict[str, Integers]:
    """Return how many people hold each value of each column, the commonest first.

    The file is the raw one as it is, or one whose first line names the columns, with cells
    separated by commas or tabs.
    """
    first = next((text for _, text in lines(path)), "")
    delimiter = "\t" if "\t" in first else ","
    counts: dict[str, Counter[str]] = {name: Counter() for name in CENSUS}
    places: dict[str, int] = {}
    for line, row in rows(path, delimiter=delimiter):
        if not places:
            places = _places(path, row)
            if not _is_raw(row):
                continue
        for name, place in places.items():
            if place >= len(row):
                refuse(path, line, f"there are {len(row)} cells, and {name} is number {place + 1}")
            counts[name][row[place].strip()] += 1
    for name, own in counts.items():
        if not 2 <= len(own) <= CENSUS[name]:
            raise ValueError(
                f"{path}: column {name} has {len(own)} values, where USCensus1990 has "
                f"{CENSUS[name]}: {_way_out()}"
            )
    return {
        name: np.array([people for _, people in own.most_common()]) for name, own in counts.items()
    }


def _is_raw(row: list[str]) -> bool:
    """Return whether a first line has a person, and not the names of columns."""
    return len(row) == _CELLS and all(is_digits(cell.strip().lstrip("-")) for cell in row)


def _places(path: Path, row: list[str]) -> dict[str, int]:
    """Return where the columns are, given the first line."""
    if _is_raw(row):
        return _PLACES
    there = {name.strip().casefold(): place for place, name in enumerate(row)}
    if "dage" in there:
        _refuse_first(
            path,
            "this is the coded file, which has no race and joins places of birth",
        )
    missing = [name for name in CENSUS if name.casefold() not in there]
    if missing:
        _refuse_first(path, f"there is no column {missing[0]}")
    return {name: there[name.casefold()] for name in CENSUS}


def _refuse_first(path: Path, what: str) -> NoReturn:
    refuse(path, 1, f"{what}: {_way_out()}")


def _way_out() -> str:
    return (
        f"give {RAW} of the UCI archive as it is, or a file whose first line names the columns, "
        f"{', '.join(CENSUS)} among them"
    )
