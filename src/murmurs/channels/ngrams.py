"""The law of reports of a string and of some of its n-grams, which share a cohort.

The cells are those of the whole strings, and for each pair of positions a table of the reports of
the two n-grams in each cohort, laid out one after another in one line. Given the string, its cohort
and the positions, all reports are independent.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmurs.channels.axes import CohortAxis
from murmurs.channels.channel import Channel
from murmurs.channels.tables import Tables
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class NGramsChannel(Channel):
    """Cells of whole strings (``whole``) and of pairs of n-grams (``grams``, one per position).

    Each report has ``together`` n-grams, at positions drawn uniformly. ``parts`` are the parts of
    the reports that count in each pair of positions and each cohort. Shares come from the reports
    of whole strings: n-grams serve to find the strings.
    """

    whole: Tables
    grams: tuple[Tables, ...]
    together: int
    parts: Floats | None = None

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of strings, with one for all others if there are any."""
        return self.whole.k

    @property
    def cohorts(self) -> int:
        """The number of cohorts."""
        return self.whole.rows

    @cached_property
    def axes(self) -> tuple[CohortAxis, ...]:
        """The axis of each position."""
        return tuple(CohortAxis(own) for own in self.grams)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of positions, in the order of their tables."""
        return tuple(itertools.combinations(range(len(self.grams)), 2))

    @cached_property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """All positions that a person may be asked for together."""
        return tuple(itertools.combinations(range(len(self.grams)), self.together))

    @property
    def per_report(self) -> int:
        """The number of pairs that each report counts in."""
        return math.comb(self.together, 2)

    @property
    def _first(self) -> int:
        """The number of cells of whole strings, which come first."""
        return math.prod(self.whole.cells)

    @property
    def _table(self) -> tuple[int, int, int, int]:
        size = self.axes[0].size
        return len(self.pairs), self.cohorts, size, size

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells of whole strings and of all tables, in one line."""
        return (self._first + math.prod(self._table),)

    @property
    def is_histogram(self) -> bool:
        """False: a report counts as a whole string and as one or more pairs."""
        return False

    @property
    def other(self) -> int | None:
        """The last answer if there may be unlisted strings, otherwise None."""
        return self.whole.other

    def split(self, cells: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the cells of whole strings, and the tables by pair and cohort."""
        return cells[: self._first].reshape(self.whole.cells), cells[self._first :].reshape(
            self._table
        )

    def joined(self, whole: NDArray[Any], tables: NDArray[Any]) -> NDArray[Any]:
        """Return both as one line of cells."""
        return np.concatenate([whole.ravel(), tables.ravel()])

    def reports(self, tables: NDArray[Any]) -> NDArray[Any]:
        """Return how many reports count in each pair and cohort."""
        if self.axes[0].is_histogram:
            return np.asarray(tables.sum(axis=(2, 3)))
        return tables[:, :, 0, 0]

    def groups(self, cells: Integers) -> Integers:
        """Return the number of reports in each cohort."""
        return self.whole.groups(self.split(cells)[0])

    def conditioned_on(self, cells: Integers) -> Self:
        """Return the channel given the numbers of reports in cohorts and pairs of positions."""
        whole, tables = self.split(cells)
        own = self.whole.conditioned_on(whole)
        n = max(float(self.whole.groups(whole).sum()), 1e-9)
        return dataclasses.replace(self, whole=own, parts=self.reports(tables) / n)

    @property
    def _parts(self) -> Floats:
        if self.parts is not None:
            return self.parts
        each = self.per_report / (len(self.pairs) * self.cohorts)
        return np.full(self._table[:2], each)

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why the cells are not those of n reports: they do not add up, or exceed them."""
        whole, tables = self.split(cells)
        why = self.whole.why_impossible(whole, n)
        if why is not None:
            return f"for whole strings, {why}"
        there, wanted = self.reports(tables).sum(axis=0), self.whole.groups(whole)
        apart = np.flatnonzero(there != self.per_report * wanted)
        if len(apart):
            at = int(apart[0])
            return (
                f"cohort {at} has {there[at]} pairs of n-grams, but {wanted[at]} reports with "
                f"{self.per_report} each"
            )
        if not self.axes[0].is_histogram:
            rows, columns = tables[:, :, :1, :], tables[:, :, :, :1]
            bad = np.argwhere((tables > rows) | (tables > columns))
            if len(bad):
                pair, cohort = int(bad[0][0]), int(bad[0][1])
                return (
                    f"two bits of pair {pair} in cohort {cohort} are set together more often than "
                    "one of them"
                )
        return None

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the means of whole strings, and products of those of two n-grams."""
        out = list(self.whole.law_of(answer))
        each = Fraction(self.per_report, len(self.pairs) * self.cohorts)
        for (i, j), cohort in itertools.product(self.pairs, range(self.cohorts)):
            one, two = (self.axes[at].exact(cohort, answer) for at in (i, j))
            out += [each * a * b for a in one for b in two]
        return out

    @property
    def base(self) -> Floats:
        """What whole strings have whatever the answer; `gain` holds all of the tables."""
        whole = np.broadcast_to(self.whole.base, self.whole.cells)
        return self.joined(whole, np.zeros(self._table))

    def gain(self, shares: Floats) -> Floats:
        """Return the means of the tables, and of whole strings beyond the base."""
        tables, parts = np.empty(self._table), self._parts
        for cohort in range(self.cohorts):
            laws = [axis.law(cohort) for axis in self.axes]
            for number, (i, j) in enumerate(self.pairs):
                tables[number, cohort] = laws[i].T @ (shares[:, None] * laws[j])
        return self.joined(self.whole.gain(shares), tables * parts[:, :, None, None])

    def adjoint(self, weights: Floats) -> Floats:
        """Return for each string the mean weight of its cells."""
        whole, tables = self.split(weights)
        out, parts = self.whole.adjoint(whole), self._parts
        for cohort in range(self.cohorts):
            laws = [axis.law(cohort) for axis in self.axes]
            for number, (i, j) in enumerate(self.pairs):
                both = ((laws[i] @ tables[number, cohort]) * laws[j]).sum(axis=1)
                out = out + parts[number, cohort] * both
        return np.asarray(out)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the shares from the reports of whole strings."""
        return self.whole.invert(self.split(cells)[0], n)

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the noise of the reports of whole strings."""
        return self.whole.noise(shares, n)

    @property
    def false_support(self) -> float:
        """The probability for a bucket of a random string."""
        return self.whole.false_support

    @property
    def tells_absence(self) -> bool:
        """Whether whole strings can be solved for."""
        return self.whole.tells_absence

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the cells; for small tables."""
        (size,) = self.cells
        out = np.zeros((size, size))
        means = self.matrix()
        axis = CohortAxis(self.whole)
        numbers = {pair: i for i, pair in enumerate(self.pairs)}
        chance = 1 / (len(self.subsets) * self.cohorts)
        for answer, people in enumerate(np.asarray(histogram, np.float64)):
            out -= people * np.outer(means[answer], means[answer])
            for cohort, subset in itertools.product(range(self.cohorts), self.subsets):
                law = axis.law(cohort)[answer]
                own = [(self._at(cohort), law)]
                blocks = [(0, 0, axis.moment(cohort, answer))]
                first = {i: a.law(cohort)[answer] for i, a in enumerate(self.axes) if i in subset}
                second = {i: self.axes[i].moment(cohort, answer) for i in subset}
                inside = list(itertools.combinations(subset, 2))
                for i, j in inside:
                    own.append(
                        (self._at(cohort, numbers[i, j]), np.outer(first[i], first[j]).ravel())
                    )
                blocks += [
                    (1 + a, 1 + b, _fourth(inside[a], inside[b], first, second))
                    for a, b in itertools.product(range(len(inside)), repeat=2)
                ]
                blocks += [(0, b, np.outer(law, own[b][1])) for b in range(1, len(own))]
                blocks += [(b, 0, np.outer(own[b][1], law)) for b in range(1, len(own))]
                for a, b, moment in blocks:
                    out[own[a][0], own[b][0]] += people * chance * moment
        return out

    def _at(self, cohort: int, pair: int | None = None) -> slice:
        """Return where the cells of a cohort are: of whole strings, or of a pair of positions."""
        if pair is None:
            each = self._first // self.cohorts
            return slice(cohort * each, (cohort + 1) * each)
        _, cohorts, rows, columns = self._table
        start = self._first + (pair * cohorts + cohort) * rows * columns
        return slice(start, start + rows * columns)


def _fourth(
    one: tuple[int, int],
    two: tuple[int, int],
    first: dict[int, Floats],
    second: dict[int, Floats],
) -> Floats:
    """Return the mean of the product of two pairs of reports, which may share reports."""
    names = dict(zip("abcd", (*one, *two), strict=True))
    operands: list[Floats] = []
    letters: list[str] = []
    for left, right in (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")):
        if names[left] == names[right]:
            operands.append(second[names[left]])
            letters.append(left + right)
    single = [letter for letter in "abcd" if not any(letter in both for both in letters)]
    operands += [first[names[letter]] for letter in single]
    letters += single
    moment = np.einsum(",".join(letters) + "->abcd", *operands)
    size = moment.shape[0] * moment.shape[1]
    return np.asarray(moment.reshape(size, -1))
