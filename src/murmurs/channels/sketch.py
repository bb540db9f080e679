"""Cells of the mean sketches: a table of rows, each with a hash of its own into a few buckets.

The sketches' inverse averages the buckets that an answer hashes to, and corrects for the others
that fall there too *on average over hash functions*. With the hash functions fixed, as they are in
a survey, an answer that shares buckets with common ones is estimated too high; the variances here
include that error, as its mean square over hash functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs import kernels, walsh
from murmurs.channel import Channel
from murmurs.checks import Floats, Integers
from murmurs.hashing import buckets


@dataclass(frozen=True)
class Sketch(Channel):
    """What both sketches share: rows, width, and the hash of row j, seeded salt + j."""

    k: int
    rows: int
    width: int
    salt: int

    def buckets(self, row: int) -> Integers:
        """Return the bucket of every answer in one row."""
        seed = np.array([(self.salt + row) % 2**32], np.uint32)
        return buckets(np.arange(self.k, dtype=np.uint64), seed, self.width).astype(np.int64)

    def every_row(self) -> Iterator[tuple[int, Integers]]:
        """Return row after row with the buckets of every answer; only one row is held at a time."""
        return ((row, self.buckets(row)) for row in range(self.rows))

    def masses(self, shares: Floats) -> Floats:
        """Return the share that falls into each bucket of each row."""
        return np.array(
            [np.bincount(at, weights=shares, minlength=self.width) for _, at in self.every_row()]
        )

    def unhash(self, estimates: Floats, n: int) -> Floats:
        """Turn summed estimates of the buckets into shares, less what others add on average."""
        total = kernels.load().sketch_totals(estimates, self.salt, self.k)
        m = self.width
        return np.asarray(m / (m - 1) * (total / n - 1 / m))

    @property
    def _shared_row(self) -> float:
        """Variance that two people with one answer add together: in one row, a collision."""
        return (1 / self.width) * (1 - 1 / self.width) / self.rows

    def spread_noise(
        self, shares: Floats, n: float, own: float, other: float
    ) -> tuple[Floats, Floats]:
        """Return c and s of unhashed shares; a report's variances are ``own`` and ``other``."""
        scale = (self.width / (self.width - 1)) ** 2 / n
        together = shares * (n * shares - 1) * self._shared_row
        constant = scale * (other + together.sum() - together)
        return constant, np.full(self.k, scale * (own - other))

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return which part of the shares' variance comes from collisions, and not from noise."""
        constant, _ = self.noise(shares, n)
        pairs = float((shares * np.maximum(n * shares - 1, 0)).sum()) * self._shared_row
        part = (self.width / (self.width - 1)) ** 2 / n * pairs / float(constant.max())
        return min(part, 1.0)

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Add sampling; it also makes pairs with one answer more frequent than the shares tell."""
        scale = (self.width / (self.width - 1)) ** 2 / n
        pairs = shares * (1 - shares) * self._shared_row
        more = scale * (pairs.sum() - pairs)
        return np.asarray(super().variance_sampled(shares, n) + more)


@dataclass(frozen=True)
class BitSketch(Sketch):
    """Cell (j, 0) counts the reports of row j, cell (j, 1 + b) those of them with bit b set.

    The bit of the answer's own bucket is set with probability ``hit``, each other with ``miss``.
    """

    hit: Fraction
    miss: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by one count of reports and ``width`` counts of bits."""
        return (self.rows, 1 + self.width)

    @property
    def is_histogram(self) -> bool:
        """A report sets many bits."""
        return False

    def complaint(self, cells: Integers, n: int) -> str | None:
        """Rows must add up to the reports, and no bit be set more often than its row is sent."""
        if int(cells[:, 0].sum()) != n:
            return f"rows add up to {int(cells[:, 0].sum())} reports, but there are {n} reports"
        above = np.argwhere(cells[:, 1:] > cells[:, :1])
        if len(above):
            row, bit = (int(x) for x in above[0])
            times, reports = cells[row, 1 + bit], cells[row, 0]
            return f"bit {bit} of row {row} is set {times} times in {reports} reports"
        return None

    def row(self, answer: int) -> list[Fraction]:
        """Return the mean of every cell for one answer."""
        out: list[Fraction] = []
        for _, at in self.every_row():
            bits = [self.hit if b == at[answer] else self.miss for b in range(self.width)]
            out += [x / self.rows for x in [Fraction(1), *bits]]
        return out

    @property
    def base(self) -> Floats:
        """A report counts in its row, and its bits are set falsely."""
        return np.array([1.0] + [float(self.miss)] * self.width) / self.rows

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) times the share in each bucket, over the rows."""
        out = np.zeros(self.cells)
        out[:, 1:] = float(self.hit - self.miss) / self.rows * self.masses(shares)
        return out

    def collect(self, weights: Floats) -> Floats:
        """Return the summed weights of the buckets of each answer, times (hit - miss) / rows."""
        totals = kernels.load().sketch_totals(weights[:, 1:].copy(), self.salt, self.k)
        return float(self.hit - self.miss) / self.rows * totals

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the mean sketch estimate."""
        noise = cells[:, :1] * float(self.miss)
        estimates = np.asarray((cells[:, 1:] - noise) / float(self.hit - self.miss), np.float64)
        return self.unhash(estimates, n)

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the mean squared error over privacy noise, rows and hash functions."""
        # hit = 1 - miss, so the bits of one's own bucket and of another's vary alike
        bit = float(self.hit * (1 - self.hit) / (self.hit - self.miss) ** 2)
        collision = (1 / self.width) * (1 - 1 / self.width)
        return self.spread_noise(shares, n, bit, bit + collision)

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the cells: bits of one row are independent given the row."""
        size = 1 + self.width
        out = np.zeros((self.rows * size, self.rows * size))
        for people, mean in zip(np.asarray(histogram, np.float64), self.matrix(), strict=True):
            second = np.zeros_like(out)
            for row in range(self.rows):
                part = slice(row * size, (row + 1) * size)
                given_row = mean[part] * self.rows
                block = np.outer(given_row, given_row)
                np.fill_diagonal(block, given_row)
                second[part, part] = block / self.rows
            out += people * (second - np.outer(mean, mean))
        return out


@dataclass(frozen=True)
class SignSketch(Sketch):
    """Cell (j, l, s) counts the reports of sign s (0: plus, 1: minus) at place l of row j.

    Row and place are uniform; the sign is that of the Hadamard matrix at place l and the answer's
    bucket, kept with probability ``keep`` and turned round otherwise.
    """

    keep: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by places by signs."""
        return (self.rows, self.width, 2)

    @property
    def is_histogram(self) -> bool:
        """A report is one row, place and sign."""
        return True

    def row(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer."""
        out: list[Fraction] = []
        for _, at in self.every_row():
            for place in range(self.width):
                odd = (place & int(at[answer])).bit_count() % 2
                signs = [1 - self.keep, self.keep] if odd else [self.keep, 1 - self.keep]
                out += [x / (self.rows * self.width) for x in signs]
        return out

    @property
    def base(self) -> Floats:
        """Either sign is as likely."""
        return np.array(1 / (2 * self.rows * self.width))

    def gain(self, shares: Floats) -> Floats:
        """Return the tilt of the signs, by one transform for each row."""
        tilt = walsh.transform(self.masses(shares)) * float(2 * self.keep - 1)
        return np.stack([tilt, -tilt], axis=-1) / (2 * self.rows * self.width)

    def collect(self, weights: Floats) -> Floats:
        """Return the weights of plus over minus in each answer's signs, by the same transform."""
        table = walsh.transform(weights[..., 0] - weights[..., 1])
        totals = kernels.load().sketch_totals(table, self.salt, self.k)
        return float(2 * self.keep - 1) / (2 * self.rows * self.width) * totals

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the mean sketch estimate, by one transform for each row."""
        signs = (cells[..., 0] - cells[..., 1]) / float(2 * self.keep - 1)
        return self.unhash(walsh.transform(signs), n)

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the mean squared error over privacy noise, rows, places and hash functions."""
        square = float(1 / (2 * self.keep - 1) ** 2)
        return self.spread_noise(shares, n, square - 1, square - self.width**-2)
