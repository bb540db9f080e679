"""Designs: any known matrix of report given answer, for data randomised with coins and dice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import kernels
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import as_tuple, check_text
from murmurs.channels.matrix import MatrixChannel
from murmurs.mechanisms.mechanism import LARGEST_K, Mechanism
from murmurs.numerics.arrays import Integers
from murmurs.privacy import SCALE, log_above
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports

MOST_ENTRIES = 2**20
"""Probabilities of a design, at most."""

LARGEST_DENOMINATOR = 2**62
"""Common denominator of the probabilities of an answer, at most."""

_WORST_CONDITION = 1e-9
"""Smallest singular value, relative to the largest, of a matrix that is inverted."""

_ROUNDED = Fraction(1, 10**9)
"""By how much computed probabilities may differ from what is meant."""

_MOST_SHOWN, _LONGEST = 9, 80
"""Entries of a matrix, and characters, up to which it is shown as a whole."""

_WRITTEN = re.compile(
    r"[0-9]{1,20}(\.[0-9]{1,20})?([eE]-?[0-9]{1,3})?|[0-9]{1,20}/0*[1-9][0-9]{0,19}"
)
"""A probability as text: short, so that it is read at once."""

Probability = Fraction | int | float | str
"""A probability as people write it; text such as "1/6" or "0.25" is exact."""


@dataclass(frozen=True)
class Design(Mechanism[int]):
    """Any known design: ``matrix[r][x]`` is the probability of report r given answer x.

    Use it for data that were randomised elsewhere, on paper with coins, cards or dice, and to try a
    mechanism of your own. `warner`, `forced_response`, `unrelated_question`, `crosswise` and
    `dice` make the designs that survey researchers know by name.

    Law: with D the common denominator of the answer's column, a number u below D is drawn
    uniformly. The report is the first r for which the sum of the column up to and including r,
    times D, is above u. The probabilities are exactly those of the matrix. Epsilon is the logarithm
    of the largest ratio of two entries in a row, and infinite if only one of them is zero.

    ``labels`` name the answers and ``reports`` the reports; both are optional.

    >>> coin = Design([["3/4", "1/4"], ["1/4", "3/4"]], labels=("yes", "no"))
    >>> coin.k, round(coin.epsilon, 4), coin.encode(0) in (0, 1)
    (2, 1.0986, True)
    """

    matrix: tuple[tuple[Fraction, ...], ...]
    labels: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    epsilon: float = field(init=False, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            matrix: Sequence[Sequence[Probability]],
            labels: Sequence[str] = (),
            reports: Sequence[str] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        self._set(matrix=_settled(_rows_of(self.matrix)))
        for what, count in (("labels", self.k), ("reports", len(self.matrix))):
            names = as_tuple(getattr(self, what), f"{what} of a design")
            if names and len(names) != count:
                raise ValueError(f"{len(names)} {what} do not fit a matrix with {count}")
            for number, name in enumerate(names):
                check_text(name, f"{what.removesuffix('s')} {number} of a design")
                if not name.strip():
                    raise ValueError(f"{what.removesuffix('s')} {number} of a design is empty")
            if len({unicodedata.normalize("NFC", name) for name in names}) != len(names):
                raise ValueError(f"{what} of a design must differ from each other")
            self._set(**{what: names})
        self._set(epsilon=self.epsilon_realised)

    @property
    def k(self) -> int:  # type: ignore[override]
        """One answer per column."""
        return len(self.matrix[0])

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of two entries in a row, if that is finite."""
        if not self.is_private:
            raise ValueError(f"{self} is not private: some report rules an answer out")
        return max(max(row) / min(row) for row in self.matrix)

    @property
    def is_private(self) -> bool:
        """Whether every report is possible under every answer, so that epsilon is finite."""
        return all(min(row) > 0 for row in self.matrix)

    @property
    def epsilon_realised(self) -> float:
        """The logarithm of the largest ratio, rounded up, or infinity if the ratio has no bound."""
        return log_above(self.ratio) if self.is_private else float("inf")

    @property
    def shape(self) -> Category:
        """A report is one of the rows."""
        return Category(len(self.matrix))

    @cached_property
    def channel(self) -> MatrixChannel:
        """Cell r counts the reports r."""
        return MatrixChannel(self.matrix)

    @cached_property
    def _steps(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """For each answer the denominator, and the cumulative numerators of its reports."""
        out = []
        for answer in range(self.k):
            column = [row[answer] for row in self.matrix]
            denominator = lcm(*(chance.denominator for chance in column))
            total, steps = 0, []
            for chance in column:
                total += int(chance * denominator)
                steps.append(total)
            out.append((denominator, tuple(steps)))
        return tuple(out)

    def _encode_one(self, answer: int, random: Randomness) -> int:
        denominator, steps = self._steps[answer]
        drawn = random.below(denominator)
        return next(report for report, step in enumerate(steps) if drawn < step)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        out = np.empty(len(answers), np.int64)
        for answer in np.unique(answers).tolist():
            denominator, steps = self._steps[answer]
            own = answers == answer
            drawn = random.of(own).wide(denominator, int(own.sum()))
            out[own] = np.searchsorted(np.array(steps), drawn, side="right")
        return out

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, len(self.matrix))

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Split the people of each answer over the reports, one binomial draw after another."""
        cells = np.zeros(len(self.matrix), np.int64)
        for answer, people in enumerate(histogram.tolist()):
            left, rest = people, Fraction(1)
            for report, row in enumerate(self.matrix):
                if left == 0:
                    break
                chance = row[answer] / rest if rest else Fraction(0)
                here = left if chance == 1 else int(rng.binomial(left, float(chance)))
                cells[report] += here
                left, rest = left - here, rest - row[answer]
        return cells

    def to_document(self) -> dict[str, Any]:
        """Return the matrix as text, one fraction per entry, with the labels."""
        rows = [[str(chance) for chance in row] for row in self.matrix]
        document: dict[str, Any] = {"name": "Design", "matrix": rows}
        if self.labels:
            document["labels"] = list(self.labels)
        return document | ({"reports": list(self.reports)} if self.reports else {})

    def __repr__(self) -> str:
        short = f"Design({len(self.matrix)} reports of {self.k} answers)"
        if self.k * len(self.matrix) > _MOST_SHOWN:
            return short
        rows = [[str(chance) for chance in row] for row in self.matrix]
        return f"Design({rows})" if len(str(rows)) <= _LONGEST else short


def as_probability(value: object, where: str) -> Fraction:
    """Return a probability as a fraction; a float stands for the decimal number it prints as.

    >>> as_probability(0.1, "p"), as_probability("1/6", "p")
    (Fraction(1, 10), Fraction(1, 6))
    """
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, Fraction | int | float | str | np.integer | np.floating
    ):
        raise TypeError(f"{where} must be a probability, such as 0.25 or '1/6', not {shown(value)}")
    if isinstance(value, float | np.floating):
        value = repr(float(value))
    chance = None
    if not isinstance(value, str):
        chance = Fraction(value if isinstance(value, Fraction) else int(value))
    elif _WRITTEN.fullmatch(value) and not value.endswith("/0"):
        chance = Fraction(value)
    if chance is None:
        raise ValueError(
            f"{where} must be a probability, such as 0.25 or '1/6', not {shown(value)}"
        )
    if not 0 <= chance <= 1:
        raise ValueError(f"{where} must be from 0 to 1, not {shown(str(chance))}")
    return chance


def _rows_of(matrix: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a matrix; a data frame has its reports in rows, too."""
    if hasattr(matrix, "columns") and hasattr(matrix, "to_numpy"):
        matrix = matrix.to_numpy()  # a loop over it would return columns, or their names
    return [
        as_tuple(row, "the entries of a row") for row in as_tuple(matrix, "the rows of a matrix")
    ]


def _settled(rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[Fraction, ...], ...]:
    """Return a checked matrix: columns sum to one, no row is empty, and it has an inverse."""
    if not rows or len({len(row) for row in rows}) != 1:
        raise ValueError("a matrix has at least one row, and rows of the same length")
    k = len(rows[0])
    if not 2 <= k <= LARGEST_K or len(rows) < k or k * len(rows) > MOST_ENTRIES:
        raise ValueError(
            f"a matrix has at least two answers (columns), at least as many reports (rows), and at "
            f"most 2**20 entries, not {len(rows)} rows of {k}"
        )
    matrix = tuple(
        tuple(as_probability(x, f"row {r}, column {c}") for c, x in enumerate(row))
        for r, row in enumerate(rows)
    )
    matrix = _summing_to_one(matrix)
    for r, row in enumerate(matrix):
        if not any(row):
            raise ValueError(f"row {r} of the matrix is all zero: leave that report out")
    floats = np.array([[float(x) for x in row] for row in matrix])
    rank = int(np.linalg.matrix_rank(floats, rtol=_WORST_CONDITION))
    if rank < k:
        alike = _alike(matrix)
        raise ValueError(
            f"the matrix cannot be inverted: it has {k} answers, but reports distinguish only "
            f"{rank}{alike}; use a design whose columns are linearly independent"
        )
    return matrix


def _summing_to_one(matrix: tuple[tuple[Fraction, ...], ...]) -> tuple[tuple[Fraction, ...], ...]:
    """Return a matrix whose columns sum to exactly one, computed ones rounded to do so."""
    columns = []
    for c, column in enumerate(zip(*matrix, strict=True)):
        if sum(column) != 1:
            if abs(sum(column) - 1) > _ROUNDED:
                raise ValueError(
                    f"column {c} of the matrix sums to {float(sum(column)):.10g}, not to 1: "
                    "columns are answers, rows are reports"
                )
            column = _rounded(column)
        if lcm(*(chance.denominator for chance in column)) > LARGEST_DENOMINATOR:
            raise ValueError(
                f"column {c} of the matrix needs a common denominator above 2**62: write its "
                "probabilities with fewer decimals"
            )
        columns.append(column)
    return tuple(zip(*columns, strict=True))


def _rounded(column: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return computed probabilities, which sum to nearly one, as fractions that sum to one.

    They are fractions with small denominators, such as 1/3, if all are that but for rounding.
    Otherwise they are multiples of 2**-53, and the largest takes up the rest.
    """
    near = tuple(chance.limit_denominator(1000) for chance in column)
    if sum(near) == 1 and all(abs(a - b) < _ROUNDED for a, b in zip(column, near, strict=True)):
        return near
    out = [Fraction(round(chance * SCALE), SCALE) for chance in column]
    out[out.index(max(out))] += 1 - sum(out)
    return tuple(out)


def _alike(matrix: tuple[tuple[Fraction, ...], ...]) -> str:
    """Return which two answers have the same column, if any two have."""
    seen: dict[tuple[Fraction, ...], int] = {}
    for c, column in enumerate(zip(*matrix, strict=True)):
        if column in seen:
            return f" (columns {seen[column]} and {c} are equal)"
        seen[column] = c
    return ""
