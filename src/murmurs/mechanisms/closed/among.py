"""Some answers of a unary encoding, and one that stands for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, shown
from murmurs.boundary.texts import as_tuple
from murmurs.channels.evidence import Classified, Evidence, Graded, check_size
from murmurs.channels.some_bits import SomeBits
from murmurs.mechanisms.closed.unary import Unary
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Integers
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Bits, Reports

MOST_KINDS = 12
"""The most bits whose combinations are listed as kinds of reports."""


@dataclass(frozen=True)
class Among(Mechanism[bytes]):
    """Some answers of a unary encoding; one more answer stands for all others.

    Use it to look at the most frequent answers of a long list: the table of two questions with 100
    answers each has 10,000 shares, that of the five most frequent and the rest has 36. The reports
    are those of the unary encoding, and only the listed bits are used. Given a listed answer or any
    other, these bits have a known law, so nothing needs to be assumed about the other answers.

    Law: that of ``mechanism`` given ``listed[i]``; the last answer is one of the others, uniformly.

    >>> from murmurs import SUE
    >>> top = Among(SUE(k=100, epsilon=3.0), [0, 1, 2])
    >>> top.k, top.channel.cells, top.shape.size
    (4, (3,), 13)
    """

    mechanism: Unary
    listed: tuple[int, ...]

    if TYPE_CHECKING:

        def __init__(self, mechanism: Unary, listed: Sequence[int]) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Unary):
            raise TypeError(
                f"answers are listed among those of a unary encoding, such as SUE, OUE or "
                f"BasicRappor, not of {self.mechanism}"
            )
        listed = as_tuple(self.listed, "listed answers")
        k = self.mechanism.k
        if any(index(answer) is None or not 0 <= answer < k for answer in listed):
            raise ValueError(f"listed answers are numbers from 0 to {k - 1}, not {shown(listed)}")
        if not 0 < len(set(listed)) == len(listed) < k:
            raise ValueError(
                f"listed answers are different ones, at least one and fewer than {k}, not "
                f"{shown(listed)}"
            )
        self._set(listed=tuple(int(answer) for answer in listed))

    @property
    def k(self) -> int:  # type: ignore[override]
        """The listed answers and the last one, for all others."""
        return len(self.listed) + 1

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The epsilon of the unary encoding."""
        return self.mechanism.epsilon

    @property
    def ratio(self) -> Fraction:
        """The ratio of the unary encoding: mixing the other answers does not increase it."""
        return self.mechanism.ratio

    @cached_property
    def _others(self) -> Integers:
        return np.setdiff1d(np.arange(self.mechanism.k), self.listed)

    @property
    def shape(self) -> Bits:
        """The reports of the unary encoding."""
        return self.mechanism.shape

    @property
    def channel(self) -> SomeBits:
        """Cell j counts the reports with the bit of the listed answer j set."""
        return SomeBits(len(self.listed), self.mechanism.one, self.mechanism.zero)

    def _flags(self, reports: Reports) -> NDArray[np.uint8]:
        """Return the listed bits of reports, one row each."""
        at = np.array(self.listed)
        return np.asarray(np.asarray(reports)[:, at >> 3] >> (at & 7).astype(np.uint8) & 1)

    def _cells_of(self, reports: Reports) -> NDArray[np.uint8]:
        return np.insert(self._flags(reports), 0, 1, axis=1)

    def _evidence(self, reports: Reports) -> tuple[Evidence, ...]:
        """Return the likelihood of the listed bits; given the last answer, all are false bits."""
        flags = self._flags(reports)
        if len(self.listed) > MOST_KINDS:
            check_size(len(flags), self.k, self)
            return (Graded(self._likelihoods(flags).astype(np.float32)),)
        places = 1 << np.arange(len(self.listed))
        every = np.arange(2 ** len(self.listed))[:, None] & places != 0
        return (Classified(flags @ places, self._likelihoods(every.astype(np.uint8))),)

    def _likelihoods(self, flags: NDArray[np.uint8]) -> NDArray[np.float64]:
        one, zero = self.mechanism.one, self.mechanism.zero
        levels = np.array([float((1 - one) / (1 - zero)), float(one / zero)])
        return np.column_stack([levels[flags], np.ones(len(flags))])

    def _encode_one(self, answer: int, random: Randomness) -> bytes:
        if answer < len(self.listed):
            return self.mechanism._encode_one(self.listed[answer], random)
        other = self._others[random.below(len(self._others))]
        return self.mechanism._encode_one(int(other), random)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        own = np.append(self.listed, -1)[answers]
        rest = own < 0
        own[rest] = self._others[random.of(rest).below(len(self._others), int(rest.sum()))]
        return self.mechanism._encode_many(own.astype(np.int64), random)

    def _count(self, reports: Reports) -> Integers:
        return np.asarray(self._flags(reports).sum(axis=0, dtype=np.int64))

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        true = rng.binomial(histogram[:-1], float(self.mechanism.one))
        false = rng.binomial(histogram.sum() - histogram[:-1], float(self.mechanism.zero))
        return np.asarray(true + false)

    def to_document(self) -> dict[str, Any]:
        """Return the unary encoding and the listed answers."""
        return {
            "name": "Among",
            "mechanism": self.mechanism.to_document(),
            "listed": list(self.listed),
        }

    def __repr__(self) -> str:
        return f"Among({self.mechanism!r}, {len(self.listed)} answers)"
