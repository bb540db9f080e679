"""One label of many, drawn and answered with yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from murmurs import kernels
from murmurs.channels.sets import OneOfSet
from murmurs.mechanisms.closed.truthful import OftenTrue
from murmurs.mechanisms.sets.sets import SetMechanism, Ticks
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports


@dataclass(frozen=True)
class OneLabel(OftenTrue, SetMechanism[int]):
    """Draw one label, and report with randomised response whether it was ticked.

    Use it where people may tick nearly all of few labels: up to about twice as many labels as ticks
    at epsilon 0.5, and 1.5 times as many up to epsilon 2. There it is more accurate than `PrivSet`.
    There is no limit to the number of ticks. Which labels go together cannot be learnt from it.

    Law: the label j is one of 0..k-1, uniformly. With probability t = truth / 2**53 the answer
    y is 1 if j was ticked and 0 if not, otherwise it is one of the two at random. The report is
    2 j + y, and e^epsilon >= (1 + t) / (1 - t). With n_j reports for label j, the variance of its
    share x is ((1 - t^2) / (4 t^2) + x (1 - x)) / n_j in the population.

    **The label is drawn by the device**, so that whoever controls devices chooses it: see
    docs/threats.md. Estimates divide by the reports for each label, which keeps what one label can
    be moved by below one report in n / k, and say if devices did not draw evenly.

    >>> from murmurs import Secure
    >>> OneLabel(k=4, epsilon=1.0).encode({0, 2}, Secure()) in range(8)
    True
    """

    k: int
    epsilon: float
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle_size(2)
        self._settle_truth()

    @property
    def limit(self) -> int:
        """All labels."""
        return self.k

    @property
    def reports_per_supporting(self) -> Fraction:
        """Two answers, of which one is true."""
        return Fraction(2)

    @property
    def shape(self) -> Category:
        """Twice the label, and one more for yes."""
        return Category(2 * self.k)

    @property
    def channel(self) -> OneOfSet:
        """Cell 2 j + y counts the reports y for label j."""
        truth = self.truth_probability
        return OneOfSet(self.k, (1 + truth) / 2, (1 - truth) / 2)

    def _encode_one(self, answer: Ticks, random: Randomness) -> int:
        """Return the label that was drawn, and the answer or a random one."""
        label = random.below(self.k)
        return 2 * label + (label in answer if random.chance(self.truth) else random.below(2))

    def _encode_many(self, sets: Sequence[Ticks], numbers: Integers, random: Bulk) -> Reports:
        n = len(numbers)
        labels = random.below(self.k, n).astype(np.int64)
        honest = random.chance(self.truth, n)
        anything = random.below(2, n).astype(np.int64)
        used, own = np.unique(numbers, return_inverse=True)
        ticked = np.zeros((len(used), self.k), np.int64)
        for row, number in enumerate(used.tolist()):
            ticked[row, list(sets[number])] = 1
        answers = np.where(honest, ticked[own, labels], anything)
        return np.asarray((2 * labels + answers).astype(self.shape.dtype))

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, 2 * self.k)

    def _simulate(
        self, sets: Sequence[Ticks], people: Integers, rng: np.random.Generator
    ) -> Integers:
        asked = split_uniformly(people, self.k, rng)
        yes, no = np.zeros(self.k, np.int64), asked.sum(axis=0)
        for own, ticks in zip(asked, sets, strict=True):
            yes[list(ticks)] += own[list(ticks)]
        no -= yes
        channel = self.channel
        said = rng.binomial(yes, float(channel.hit)) + rng.binomial(no, float(channel.miss))
        return np.stack([yes + no - said, said], axis=1).ravel()
