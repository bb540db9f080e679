"""How two variables go together: a table of shares from reports of both."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmurs import estimators
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import numbered
from murmurs.estimators.estimation import Estimate
from murmurs.hashing.layout import ListedPlaces
from murmurs.inference.association import Association
from murmurs.inference.association import association as test_association
from murmurs.mechanisms.hashed.candidates import OTHER
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.products.closed import Product
from murmurs.rappor.csv_files import write_csv
from murmurs.wire import Reports

_WORDS = {"true": "TRUE", "false": "FALSE", OTHER: "Other"}
"""How google/rappor writes these answers."""


@dataclass(frozen=True)
class AssociationTable:
    """The shares of all combinations of two variables."""

    names: tuple[str, str]
    estimate: Estimate
    candidates: tuple[int, ...]
    """How many strings the map of each string variable has."""
    reports: Reports

    def tested(self) -> Association:
        """Test whether the variables go together; needs SciPy."""
        return test_association(self.estimate.counts, reports=self.reports)

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The answers of each variable."""
        mechanism = self.estimate.counts.mechanism
        assert isinstance(mechanism, Product)
        one, two = mechanism.parts
        return tuple(one.labels), tuple(two.labels)

    def rows(self, level: float) -> list[tuple[str, str, float, float, float]]:
        """Return the lines of results: both answers, the share and its interval.

        As in google/rappor the second variable comes first and varies faster, true before false.
        """
        first, second = self.labels
        shares = self.estimate.shares.reshape(len(first), len(second))
        limits = self.estimate.interval(level).T.reshape(len(first), len(second), 2)
        fast = range(len(second))
        if second == ("false", "true"):
            fast = fast[::-1]
        return [
            (
                _WORDS.get(second[j], second[j]),
                _WORDS.get(first[i], first[i]),
                float(shares[i, j]),
                float(limits[i, j, 0]),
                float(limits[i, j, 1]),
            )
            for i in range(len(first))
            for j in fast
        ]


def association_table(
    names: tuple[str, str], product: Product, reports: Reports, level: float = 0.95
) -> AssociationTable:
    """Estimate the table of two variables by maximum likelihood of their reports.

    The table has the strings that are detected in each variable by itself, with probability
    ``level`` none that nobody holds, and one answer for all others.
    """
    counts = product.count(reports)
    if counts.n == 0:
        raise ValueError("there are no reports to estimate from")
    parts: list[Mechanism[Any]] = []
    candidates: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes say it
        for number, (name, part) in enumerate(zip(names, product.parts, strict=True)):
            if isinstance(part, Mapped):
                candidates.append(len(part.candidates))
                part = _detected(name, part, counts.margin(number), level)
            parts.append(part)
        estimate = estimators.report_likelihood(
            Product(tuple(parts)), reports, why="the reports say more than their counts"
        )
    return AssociationTable(names, estimate, tuple(candidates), reports)


def _detected(name: str, over: Mapped, counts: Any, level: float) -> Mapped:
    """Return the same mechanism over the strings that somebody holds."""
    found = estimators.estimate(counts).detected(1 - level, "bonferroni").present
    kept = np.flatnonzero(found[: len(over.candidates)])
    if not len(kept):
        raise ValueError(
            f"no string of the map of {shown(name)} is detected in {numbered(counts.n, 'report')}: "
            "collect more reports, or look for other strings"
        )
    assert isinstance(over.map, ListedPlaces)
    names = tuple(over.candidates[i] for i in kept.tolist())
    return Mapped(over.mechanism, names, map=over.map.select(kept))


def write_association(path: Path, found: AssociationTable, level: float = 0.95) -> None:
    """Write the table, with the columns of google/rappor and the limits of the shares."""
    write_csv(path, association_rows(found, level))


def association_rows(found: AssociationTable, level: float) -> Iterable[Sequence[object]]:
    """Return the header and the lines of the file of results."""
    one, two = found.names
    yield [two, one, "proportion", f"prop_low_{100 * level:g}", f"prop_high_{100 * level:g}"]
    for second, first, *numbers in found.rows(level):
        yield [second, first, *map(repr, numbers)]
