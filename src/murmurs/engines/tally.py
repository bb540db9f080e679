"""Tally: what rows add up to. Tallies of different rows are added; nothing else travels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from murmurs.counts import Counts
from murmurs.files.segments import Segment
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey

MOST_SAMPLES = 100
"""How many refused rows are named for each reason: the first ones, in the order of the sources."""


class Refusal(NamedTuple):
    """A row that was left out: which, and why. What is in it stays where it is."""

    part: int
    source: str
    row: int
    reason: str


@dataclass
class Sum:
    """The number of reports to a question, and their cells."""

    n: int
    cells: Integers


@dataclass
class Tally:
    """What some rows add up to, by segment and question, and what was left out.

    ``missing`` counts rows without a report to a question, ``refused`` rows by reason, and
    ``repeated`` rows whose id another row had before.
    """

    rows: int = 0
    sums: dict[tuple[Segment, str], Sum] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    repeated: int = 0
    samples: list[Refusal] = field(default_factory=list)

    def sum_of(self, segment: Segment, asked: Asked, n: int) -> Integers:
        """Add so many reports of a segment to a question, and return the cells to add to."""
        found = self.sums.get((segment, asked.name))
        if found is None:
            found = Sum(0, np.zeros(asked.mechanism.channel.cells, np.int64))
            self.sums[segment, asked.name] = found
        found.n += n
        return found.cells

    def put(self, segment: Segment, name: str, n: int, cells: Integers) -> None:
        """Add the reports of a segment to a question."""
        found = self.sums.get((segment, name))
        if found is None:
            self.sums[segment, name] = Sum(n, cells.copy())
        else:
            found.n += n
            found.cells += cells

    def refuse(self, refusal: Refusal) -> None:
        """Count a row that is left out, and keep where it is if it is among the first."""
        before = self.refused.get(refusal.reason, 0)
        self.refused[refusal.reason] = before + 1
        if before < MOST_SAMPLES:
            self.samples.append(refusal)

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both; this one is used up."""
        self.rows += other.rows
        self.repeated += other.repeated
        for (segment, name), own in other.sums.items():
            self.put(segment, name, own.n, own.cells)
        for mine, more in ((self.missing, other.missing), (self.refused, other.refused)):
            for name, number in more.items():
                mine[name] = mine.get(name, 0) + number
        self.samples = _first_of_each(self.samples + other.samples)
        return self

    def counts(self, survey: Survey) -> dict[Segment, dict[str, Counts]]:
        """Return the counts of each segment, by question, in the order of their names."""
        found: dict[Segment, dict[str, Counts]] = {}
        names = {asked.name: place for place, asked in enumerate(survey.reported)}
        for segment, name in sorted(self.sums, key=lambda key: (key[0], names.get(key[1], 0))):
            own = self.sums[segment, name]
            mechanism = survey.asked(name).mechanism
            found.setdefault(segment, {})[name] = Counts(mechanism, own.n, own.cells)
        return found


def _first_of_each(samples: list[Refusal]) -> list[Refusal]:
    """Return the first refusals of each reason, in order: the same however tallies were added."""
    kept: dict[str, int] = {}
    found = []
    for one in sorted(samples):
        kept[one.reason] = kept.get(one.reason, 0) + 1
        if kept[one.reason] <= MOST_SAMPLES:
            found.append(one)
    return found
