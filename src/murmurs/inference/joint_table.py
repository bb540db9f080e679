"""The unbiased table of two questions with its covariance: what measures of association need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from murmurs.channels.product import MOST_JOINT
from murmurs.counts import Counts
from murmurs.inference.association import the_pair
from murmurs.inference.fit import Target, check_target
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import plausible


@dataclass(frozen=True, eq=False)
class JointTable:
    """Unbiased shares of combinations, one row per answer to the first question.

    ``covariance`` has four axes: row and column of one combination, row and column of the other.
    """

    shares: Floats
    covariance: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    names: tuple[str, str]
    """What the rows and the columns are answers to."""
    person: float = 0.0
    """The share of one person."""
    sampled: bool = True
    """Whether people are a sample from a population."""

    @property
    def turned(self) -> JointTable:
        """The same table with rows and columns exchanged."""
        covariance = self.covariance.transpose(1, 0, 3, 2)
        names = (self.names[1], self.names[0])
        people = (self.person, self.sampled)
        return JointTable(self.shares.T, covariance, self.columns, self.rows, names, *people)

    def part(self, rows: Integers, columns: Integers) -> JointTable:
        """Return the table of some of the answers to each question."""
        at = np.ix_(rows, columns, rows, columns)
        down, across = (
            tuple(np.array(names, object)[places])
            for names, places in ((self.rows, rows), (self.columns, columns))
        )
        shares = self.shares[np.ix_(rows, columns)]
        people = (self.person, self.sampled)
        return JointTable(shares, self.covariance[at], down, across, self.names, *people)

    @cached_property
    def row_sums(self) -> Floats:
        """The shares of the answers to the first question."""
        return np.asarray(self.shares.sum(axis=1))

    @cached_property
    def column_sums(self) -> Floats:
        """The shares of the answers to the second question."""
        return np.asarray(self.shares.sum(axis=0))

    @cached_property
    def adding_up(self) -> JointTable:
        """The same table, corrected by what its shares lack to one so that noise is least."""
        with_all = self.covariance.sum(axis=(2, 3))
        total = float(with_all.sum())
        if total <= 1e-9 * float(self.variances.sum()):  # they add up to one already
            return self
        lean = with_all / total
        shares = self.shares + lean * (1 - float(self.shares.sum()))
        covariance = self.covariance - np.multiply.outer(lean, lean) * total
        return replace(self, shares=shares, covariance=covariance)

    @property
    def variances(self) -> Floats:
        """The variances of the shares."""
        return np.asarray(np.einsum("ijij->ij", self.covariance))

    @cached_property
    def with_columns(self) -> Floats:
        """The covariance of each share with the sum of each column."""
        return np.asarray(self.covariance.sum(axis=2))

    @cached_property
    def with_rows(self) -> Floats:
        """The covariance of each share with the sum of each row."""
        return np.asarray(self.covariance.sum(axis=3))


def joint_table(
    counts: Counts | JointTable, questions: Sequence[int], target: Target
) -> JointTable:
    """Return the table of two questions, the first of them in rows; a table stands for itself."""
    check_target(target)
    if isinstance(counts, JointTable):
        return counts
    pair = the_pair(counts, questions)
    fit = fitted(counts.margin(*pair))
    sizes = [len(fitted(counts.margin(q)).unbiased) for q in pair]
    if sizes[0] * sizes[1] > MOST_JOINT:
        raise ValueError(
            f"{sizes[0] * sizes[1]} combinations of answers are too many for the covariance of all "
            f"of them, at most {MOST_JOINT}: merge rare answers, or use fewer candidates"
        )
    covariance = fit.covariance(plausible(fit.unbiased), target)
    rows, columns = (_labels(counts.margin(q), k) for q, k in zip(pair, sizes, strict=True))
    names = f"question {pair[0]}", f"question {pair[1]}"
    covariance = covariance.reshape(sizes + sizes)
    people = (1 / max(counts.people, 1), target == "population")
    found = JointTable(fit.unbiased.reshape(sizes), covariance, rows, columns, names, *people)
    return found if tuple(questions) == pair else found.turned


def _labels(counts: Counts, k: int) -> tuple[str, ...]:
    return tuple(counts.mechanism.labels) or tuple(str(j) for j in range(k))
