"""A base for mechanisms of your own, with three things to say and nothing underscored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Integers
from murmurs.privacy import check_promise
from murmurs.randomness.bulk import Bulk, bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report, Reports

MOST_SIMULATED = 10**7
"""People up to whom a population is simulated by encoding each of them."""


class CustomMechanism(Mechanism[Report]):
    """A mechanism of your own: derive a frozen dataclass with the fields k and epsilon.

    Say how one answer becomes a report (`respond`), in which cells a report counts (`cells_of`),
    and what follows from it: `shape`, `channel` and `ratio`. Everything else is there: bulk
    encoding, counting, simulation, estimators, intervals, questions. Files cannot be read back,
    since they name only the mechanisms of `murmurs`. Bulk encoding and simulation go through people
    one by one, at some hundred thousand a second. Where a matrix describes the mechanism,
    `murmurs.Design` is shorter and faster.

    `docs/cookbook/own.md` has an example with the tests that every mechanism should pass.
    """

    @abstractmethod
    def respond(self, answer: int, random: Randomness) -> Report:
        """Return a private report of an answer from 0 to k - 1.

        All chance must come from ``random``: ``random.chance(numerator)`` is true with probability
        numerator / 2**53, and ``random.below(n)`` is uniform from 0 to n - 1.
        """

    @abstractmethod
    def cells_of(self, report: Report) -> Iterable[int]:
        """Return the numbers of the (flattened) cells in which a report counts."""

    def _encode_one(self, answer: int, random: Randomness) -> Report:
        check_promise(self.ratio, self.epsilon, self)
        report = self.respond(answer, random)
        self._stacked([report])  # refuses what is no report of this shape
        return report

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        check_promise(self.ratio, self.epsilon, self)
        people = zip(answers.tolist(), random.each(len(answers)), strict=True)
        return self._stacked([self.respond(answer, one) for answer, one in people])

    def _written(self) -> str:
        """Return the document or, if its fields are no plain values, the name, k and epsilon."""
        try:
            return super()._written()
        except (TypeError, ValueError):
            return f"{type(self).__name__} {self.k} {self.epsilon!r}"

    def _stacked(self, reports: list[Report]) -> Reports:
        """Return an array of reports; what is no report is not quoted, as it may hold an answer."""
        try:
            return self.shape.stack(reports)
        except (TypeError, ValueError, OverflowError):
            pass
        raise ValueError(
            f"respond of {self} returned what is no report of {self.shape}: correct it"
        )

    def _count(self, reports: Reports) -> Integers:
        cells = np.zeros(int(np.prod(self.channel.cells)), np.int64)
        for report in self.shape.unstack(reports):
            for cell in self.cells_of(report):
                cells[whole(cell, "a cell of cells_of", 0, len(cells) - 1)] += 1
        return cells.reshape(self.channel.cells)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        n, source = int(histogram.sum()), bulk(rng)
        if n > MOST_SIMULATED:
            raise ValueError(
                f"simulating {self} encodes each of {n:,} people, more than {MOST_SIMULATED:,}: "
                "simulate fewer, or describe the mechanism as a Design"
            )
        answers = np.repeat(np.arange(self.k), histogram)
        cells = np.zeros(self.channel.cells, np.int64)
        for start in range(0, n, 2**16):
            cells += self._count(self._encode_many(answers[start : start + 2**16], source))
        return cells
