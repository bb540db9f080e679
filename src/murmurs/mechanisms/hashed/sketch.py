"""Mean sketches: each report uses one of many hash tables, so memory does not grow with k."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.boundary.checks import whole
from murmurs.channels.bit_sketch import MeanSketch
from murmurs.channels.sign_sketch import SignSketch
from murmurs.hashing.layout import Keyed
from murmurs.mechanisms.hashed.cohorts import ClosedCohorts
from murmurs.mechanisms.hashed.orappor import ORappor
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.settling import LEFT_OPEN, check_cells, settle_flip
from murmurs.numerics import walsh
from murmurs.numerics.arrays import Integers
from murmurs.numerics.xxh32 import bucket
from murmurs.privacy import SCALE, check_promise, flip_ratio
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, CohortBits, Reports


@dataclass(frozen=True)
class CountMeanSketch(ClosedCohorts[CohortBits]):
    """Count mean sketch: the one-hot bits of the bucket in a random row, each bit randomised.

    Use it when there are too many answers for a cell each and reports of ``width`` bits are
    acceptable; `HadamardSketch` sends a few bytes instead.

    Law: the row is uniform; bit b of the row is (b == bucket of the answer in that row), and each
    bit is flipped with probability u = flip / 2**53, the smallest that keeps
    ((1 - u) / u)^2 <= e^epsilon. The bucket in row j is XXH32(answer, salt + j) * width
    >> 32. Apple's Differential Privacy Team (2017); Le and Zia (2020) describe its special case
    without hashing, which is `SUE`.

    >>> from murmurs import Secure
    >>> sketch = CountMeanSketch(k=100_000, epsilon=2.0, rows=64, width=256)
    >>> len(sketch.encode(77, Secure()).bits)
    32
    """

    k: int
    epsilon: float
    rows: int = 1024
    width: int = 256
    salt: int = 0
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(rows=whole(self.rows, "rows", 1, 2**16))
        check_cells(self.rows * whole(self.width, "width", 2, 2**16), "rows * width")
        table = self.randomiser
        self._set(width=table.width, salt=table.salt, flip=table.flip)

    @cached_property
    def randomiser(self) -> ORappor:
        """The mechanism that randomises bits; a row is a cohort."""
        return ORappor(self.epsilon, self.width, self.rows, 1, self.salt, self.flip)

    @cached_property
    def layout(self) -> Keyed:
        """The answers' numbers, hashed."""
        return numbers(self.k, self.rows, self.width, self.salt)

    @cached_property
    def channel(self) -> MeanSketch:
        """Cell (j, 0) counts the reports of row j, cell (j, 1 + b) those with bit b set."""
        return MeanSketch(self.layout, False, self.randomiser.one, self.randomiser.zero)


def numbers(k: int, rows: int, width: int, salt: int) -> Keyed:
    """Return the buckets of the answers 0..k-1, by the hash of their numbers."""
    return Keyed(np.arange(k, dtype=np.uint64)[None, :], rows, width, salt)


@dataclass(frozen=True)
class HadamardSketch(Mechanism[int]):
    """Hadamard count mean sketch: one bit of the transform of a random row.

    Use it for very large alphabets when reports must be tiny: one private bit, and the
    public row and position it belongs to. Its error is that of `Hadamard` with one block, plus what
    the collisions of the hash tables add.

    Law: row j and position l are uniform; the sign is minus if l and the answer's bucket in row j
    have an odd number of one-bits in common, and it is flipped with probability u = flip / 2**53,
    the smallest that keeps (1 - u) / u <= e^epsilon. The report is the number (j * width + l) * 2 +
    (1 if minus else 0). Width is a power of two.

    >>> from murmurs import Secure
    >>> sketch = HadamardSketch(k=100_000, epsilon=2.0)
    >>> sketch.bits, sketch.shape.size, sketch.encode(77, Secure()) < 2**21
    (21.0, 4, True)
    """

    k: int
    epsilon: float
    rows: int = 1024
    width: int = 1024
    salt: int = 0
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(
            rows=whole(self.rows, "rows", 1, 2**16),
            width=whole(self.width, "width", 2, 2**16),
            salt=whole(self.salt, "salt", 0, 2**32 - 1),
        )
        if self.width & (self.width - 1):
            raise ValueError(f"width must be a power of two, not {self.width}")
        check_cells(2 * self.rows * self.width, "2 * rows * width")
        self._set(flip=settle_flip(self.flip, self.epsilon))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def flip_probability(self) -> Fraction:
        """The exact probability of flipping the bit."""
        return Fraction(self.flip, SCALE)

    @property
    def ratio(self) -> Fraction:
        """The ratio of one bit."""
        return flip_ratio(self.flip)

    @property
    def shape(self) -> Category:
        """A report is a row, a position and a sign, in one number."""
        return Category(2 * self.rows * self.width)

    @cached_property
    def channel(self) -> SignSketch:
        """Cell (j, l, s) counts the reports of sign s at position l of row j."""
        layout = numbers(self.k, self.rows, self.width, self.salt)
        return SignSketch(layout, False, 1 - self.flip_probability)

    def bucket(self, answer: int, row: int) -> int:
        """Return the bucket of an answer in a row."""
        return bucket(answer, (self.salt + row) % 2**32, self.width)

    def _encode_one(self, answer: int, random: Randomness) -> int:
        """Return a row, a position and the randomised sign."""
        row, place = random.below(self.rows), random.below(self.width)
        minus = (place & self.bucket(answer, row)).bit_count() % 2
        return (row * self.width + place) * 2 + (minus ^ random.chance(self.flip))

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        n = len(answers)
        where = random.below(self.rows * self.width, n).astype(np.int64)
        rows, places = where // self.width, where % self.width
        minus = walsh.parity(places & self.channel.layout.look_up(answers, rows)[0])
        return where * 2 + (minus ^ random.chance(self.flip, n))

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, self.shape.count).reshape(self.channel.cells)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Split each bucket's people by sign, then over the positions where it has that sign."""
        held = np.zeros((self.rows, self.width), np.int64)
        left = histogram
        for row in range(self.rows):
            here = rng.binomial(left, 1 / (self.rows - row))
            left = left - here
            np.add.at(held[row], self.channel.layout.places_in(row)[0], here)
        minus = rng.binomial(held, 0.5)
        minus[:, 0] = 0  # bucket 0 has plus signs everywhere
        people = np.zeros((self.rows, 2, 2, self.width), np.int64)
        people[:, 0, 0], people[:, 1, 1] = held - minus, minus
        by_sign = walsh.scatter(people.reshape(-1, 2, self.width), rng)
        true = by_sign.reshape(self.rows, 2, self.width)
        flip = float(self.flip_probability)
        turned = rng.binomial(true, flip)
        kept = true - turned
        return np.stack([kept[:, 0] + turned[:, 1], kept[:, 1] + turned[:, 0]], axis=-1)
