"""What reports say about answers: the likelihood of each report given each answer.

Counts are enough for most estimates. The likelihood of the reports themselves needs, for every
report, its probability given each answer, up to a factor that does not depend on the answer. There
are three forms of it: most mechanisms have reports that are either of a few kinds (`Classified`) or
support a set of answers (`Supported`), which take little memory; `Graded` holds everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats, Integers

MOST_ENTRIES = 2**27
"""The most likelihoods that are kept: half a gigabyte in single precision."""


class Evidence(ABC):
    """The likelihoods of reports to one question, a row per report and a column per answer."""

    @property
    @abstractmethod
    def k(self) -> int:
        """The number of answers."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of reports."""

    @abstractmethod
    def rows(self, which: slice | Integers) -> Floats:
        """Return the likelihoods of some reports, each up to a factor."""


@dataclass(frozen=True, eq=False)
class Supported(Evidence):
    """Reports that are 1 + ``excess`` times as likely given an answer that they support.

    ``bits`` are packed: bit a % 8 of byte a // 8 of a row says whether it supports answer a.
    """

    bits: NDArray[np.uint8]
    answers: int
    excess: float

    @property
    def k(self) -> int:
        """The number of answers."""
        return self.answers

    def __len__(self) -> int:
        """Return the number of reports."""
        return len(self.bits)

    def rows(self, which: slice | Integers) -> Floats:
        """Return one for each answer, and 1 + excess where it is supported."""
        flags = np.unpackbits(self.bits[which], axis=1, count=self.answers, bitorder="little")
        return np.asarray(1 + self.excess * flags)


@dataclass(frozen=True, eq=False)
class Classified(Evidence):
    """Reports of a few kinds: report i has the likelihoods in row ``kinds[i]`` of the table."""

    kinds: Integers
    table: Floats

    @property
    def k(self) -> int:
        """The number of answers."""
        return int(self.table.shape[1])

    def __len__(self) -> int:
        """Return the number of reports."""
        return len(self.kinds)

    def rows(self, which: slice | Integers) -> Floats:
        """Return the rows of the table."""
        return np.asarray(self.table[self.kinds[which]])


@dataclass(frozen=True, eq=False)
class Graded(Evidence):
    """Any likelihoods, in single precision."""

    values: NDArray[np.float32]

    @property
    def k(self) -> int:
        """The number of answers."""
        return int(self.values.shape[1])

    def __len__(self) -> int:
        """Return the number of reports."""
        return len(self.values)

    def rows(self, which: slice | Integers) -> Floats:
        """Return the likelihoods."""
        return self.values[which].astype(np.float64)


def check_size(reports: int, answers: int, mechanism: Any) -> None:
    """Refuse likelihoods that would not fit in memory."""
    if reports * answers > MOST_ENTRIES:
        raise ValueError(
            f"{reports} reports by {answers} answers of {mechanism} are more likelihoods than "
            "2**27: estimate from counts, or list fewer candidates"
        )
