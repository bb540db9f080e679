"""The fit of mean sketches, and how estimates that contain collisions are compared.

The share of an answer is averaged over its buckets in all rows, minus what other answers add there
on average over hash functions. In a given sketch they add more or less than that, whatever the
number of reports. But hash functions are public: with C(x, y) the part of the rows in which x and y
share a bucket, the averages have the means

    A f,   where A(x, y) = (C(x, y) - 1 / width) / (1 - 1 / width),

if f are the shares. Over random hash functions A is the identity, and the variance of its entries
is the noise of collisions in `Channel.noise`. Given the hash functions it is known, and three cases
are told apart when estimates are compared (`apart_from_collisions`):

- A can be inverted. Then the shares are solved for (`SolvedMean`), and collisions are gone.
- It cannot, but all estimates have the same hash functions. Then A is common to all of them: if no
  share changed, no mean did. Only changes of other answers collide (`SameHashes`).
- Otherwise collisions stay noise, over random hash functions. This noise is far from normal, with
  long tails: see `collided_p_values`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from murmurs.channels.hashed import Sketch
from murmurs.channels.sign_sketch import SignSketch
from murmurs.channels.solving import WELL_POSED, gram
from murmurs.channels.tables import Tables
from murmurs.inference.fit import LARGEST_COVARIANCE, Fit, Target
from murmurs.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class MeanFit(Fit):
    """The averages of a sketch whose answers have one bucket in each row."""

    @property
    def channel(self) -> Sketch:
        """The law of the sketch."""
        return cast(Sketch, self.counts.channel)

    @property
    def has_covariance(self) -> bool:
        """False: the covariance of collisions is known, but they are far from normal."""
        return False

    @cached_property
    def mixing(self) -> Floats:
        """A: the means of the averages are A (shares), given the hash functions."""
        layout = self.channel.layout
        together = gram(layout, np.full((layout.rows, layout.width), 1 / layout.rows))
        return (together - 1 / layout.width) / (1 - 1 / layout.width)

    @cached_property
    def unmixing(self) -> Floats | None:
        """The inverse of A; None if answers are too many, or some can hardly be told apart."""
        k, layout = self.channel.k, self.channel.layout
        if k > min(LARGEST_COVARIANCE, layout.rows * (layout.width - 1) + 1):
            return None
        values, vectors = np.linalg.eigh(self.mixing)
        return None if values[0] < WELL_POSED else np.asarray((vectors / values) @ vectors.T)

    def without_collisions(self) -> Fit | None:
        """Return the fit with shares that are solved for, if they can be."""
        return None if self.unmixing is None else SolvedMean(self.counts, self)

    def variances(self, shares: Floats) -> Floats:
        """Return the variance of each average for a population, given the hash functions."""
        channel = self.channel
        masses = channel.masses(shares)
        squares = channel.layout.totals(_squares(channel, masses)) / channel.rows
        means = channel.layout.totals(masses) / channel.rows
        return np.asarray((squares - means**2) * _scale(channel) / self.n)

    def given_hashes(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the averages given the hash functions.

        A report adds to the average of an answer what it says about its bucket in the report's row,
        independently of other reports. Both answers gain if they share this bucket.
        """
        channel, rows = self.channel, self.channel.rows
        masses = channel.masses(shares)
        squares, means = _squares(channel, masses), channel.layout.totals(masses) / rows
        apart = np.zeros((1, 1))
        if isinstance(channel, Tables) and channel.exclusive:  # a report has one bucket of two
            ratio = float(channel.miss) / channel.difference
            squares = squares + ratio * (ratio + 2 * masses)
            apart = -ratio * (ratio + means[:, None] + means)
        out = (gram(channel.layout, squares / rows) + apart - np.outer(means, means)) / self.n
        out *= _scale(channel)
        if target == "population":
            return np.asarray(out)
        sampling = self.mixing * shares @ self.mixing.T
        mean = self.mixing @ shares
        return np.asarray(out - (sampling - np.outer(mean, mean)) / self.counts.people)

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the averages, over hash functions, too.

        Two answers have the one collision with each other in common.
        """
        scale, pair = self.channel.collision
        square = float(shares @ shares)
        collisions = np.outer(shares, shares) + np.diag(square - 2 * shares**2)
        return self.given_hashes(shares, target) + scale * pair * collisions


@dataclass(frozen=True, eq=False)
class SolvedMean(Fit):
    """The shares of a mean sketch with collisions solved for: unbiased given the hash functions."""

    first: MeanFit

    @property
    def unmixing(self) -> Floats:
        """The inverse of A."""
        assert self.first.unmixing is not None
        return self.first.unmixing

    @cached_property
    def unbiased(self) -> Floats:
        """The solution."""
        return np.asarray(self.unmixing @ self.first.unbiased)

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the variances at these shares, and zeros."""
        variance = np.diag(self.covariance(shares, "respondents"))
        return np.maximum(variance, 0.0), np.zeros(len(shares))

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the solution."""
        return np.asarray(self.unmixing @ self.first.given_hashes(shares, target) @ self.unmixing)

    @property
    def has_covariance(self) -> bool:
        """True: answers are few, and the cells do not matter."""
        return True


@dataclass(frozen=True, eq=False)
class SameHashes(Fit):
    """The averages of a sketch, to be compared with others that have the same hash functions.

    ``moved`` is the sum of the squared changes of shares, which collide as shares do.
    """

    first: MeanFit
    moved: float

    @property
    def unbiased(self) -> Floats:
        """The averages."""
        return self.first.unbiased

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the variances given the hash functions, with collisions of what changed."""
        people = shares * (1 - shares) / self.counts.people
        scale, pair = self.first.channel.collision
        variance = self.first.variances(shares) - people
        return np.maximum(variance, 0.0) + scale * pair * self.moved, np.zeros(len(shares))

    def without_collisions(self) -> Fit:
        """Return the fit itself: what it is compared with has the same collisions."""
        return self

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance given the hash functions: if nothing changed, nothing collides."""
        return self.first.given_hashes(shares, target)

    @property
    def has_covariance(self) -> bool:
        """Whether answers are few; the cells do not matter."""
        return len(self.unbiased) <= LARGEST_COVARIANCE


Side = TypeVar("Side", bound=Any)


def apart_from_collisions(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Return estimates to compare, with fits free of collisions where these can be removed."""
    given: list[Fit] = [side.fit for side in sides]
    if len({len(fit.unbiased) for fit in given}) > 1:
        return tuple(sides)
    fits = [fit.alongside(given) for fit in given]
    found = [fit.without_collisions() or fit for fit in fits]
    if found[0].without_collisions() is None:
        found = _with_same_hashes(fits) or found
    return tuple(
        side if fit is own else dataclasses.replace(side, fit=fit)
        for side, fit, own in zip(sides, found, given, strict=True)
    )


def _with_same_hashes(fits: Sequence[Fit]) -> list[Fit] | None:
    """Return the fits given their hash functions, if these are the same in all."""
    means = [fit for fit in fits if isinstance(fit, MeanFit)]
    if len(means) < len(fits):
        return None
    marks = [_mark(fit) for fit in means]
    if any(mark.shape != marks[0].shape or (mark != marks[0]).any() for mark in marks):
        return None
    people = [fit.counts.people for fit in fits]
    common = np.average([fit.unbiased for fit in fits], axis=0, weights=people)
    shares = np.maximum(common, 0) / max(float(np.maximum(common, 0).sum()), 1e-300)
    found: list[Fit] = []
    for fit in means:
        away = float(((fit.unbiased - common) ** 2 - fit.variances(shares)).sum())
        found.append(SameHashes(fit.counts, fit, 2 * max(away, 0.0)))
    return found


def _mark(fit: MeanFit) -> Floats:
    """Return numbers by which the hash functions of a sketch are known: sums in their buckets."""
    rng = np.random.default_rng(0)
    return fit.channel.layout.masses(rng.integers(0, 2**36, fit.channel.k).astype(np.float64))


def collided(sides: Sequence[Any]) -> tuple[str, ...]:
    """Return the note that collisions are noise in a comparison, if they are."""
    if all(side.fit.without_collisions() is not None for side in sides):
        return ()
    return (
        "answers share buckets of a sketch, in another way on each side, and cannot be solved for: "
        "p-values are upper limits over random hash functions; sketches with one salt compare best",
    )


def collided_p_values(sides: Sequence[Any], errors: Floats) -> Floats:
    """Return upper limits of the p-values of single answers, if collisions are noise.

    ``errors`` are the standard errors of the shares, one line for each side. A collision with a
    common answer adds this answer's share over the rows at once, which is far more than the
    standard error if there are many buckets. Bernstein's inequality holds for sums of such steps,
    and for the normal noise beside them. Of two sides, the difference is tested; of more, the
    distance of each from the mean, times the number of sides (Bonferroni).
    """
    found = np.stack([side.fit.unbiased for side in sides])
    errors = np.hypot(errors, [[math.sqrt(_unseen(side))] for side in sides])
    if len(sides) == 2:
        away, variance = np.abs(found[:1] - found[1:]), (errors**2).sum(axis=0, keepdims=True)
    else:
        weights = 1 / np.maximum(errors, 1e-13) ** 2
        away = np.abs(found - (weights * found).sum(axis=0) / weights.sum(axis=0))
        variance = np.maximum(errors**2 - 1 / weights.sum(axis=0), 0.0)
    step = max(_step(side) for side in sides)
    exponents = away**2 / (2 * np.maximum(variance + step * away / 3, 1e-300))
    return np.asarray(np.minimum(2 * len(away) * np.exp(-exponents.max(axis=0)), 1.0))


def _step(side: Any) -> float:
    """Return how much a collision with the most common answer in one row adds to a share."""
    channel = side.fit.channel
    if not isinstance(channel, Sketch) or side.fit.without_collisions() is not None:
        return 0.0
    stretch = math.sqrt(channel.collision[0])
    largest = min(max(float(side.plausible.max()), float(side.fit.unbiased.max())), 1.0)
    return largest * stretch * channel.layout.hashes / channel.rows


def _unseen(side: Any) -> float:
    """Return the variance of collisions that the plausible shares miss.

    Unbiased shares of many rare answers are brought onto the simplex by making the common ones
    smaller, and these collide.
    """
    fit = side.fit
    if not isinstance(fit, MeanFit):
        return 0.0
    squares = float((fit.unbiased**2 - fit.variances(side.plausible)).sum())
    scale, pair = fit.channel.collision
    return scale * pair * max(squares - float((side.plausible**2).sum()), 0.0)


def _scale(channel: Sketch) -> float:
    """Return the square by which averages minus what others add are stretched."""
    return (1 - 1 / channel.width) ** -2


def _squares(channel: Sketch, masses: Floats) -> Floats:
    """Return the mean square of what a report says about each bucket, in its own row."""
    if isinstance(channel, SignSketch):
        return np.full(masses.shape, float(1 / (2 * channel.keep - 1) ** 2))
    assert isinstance(channel, Tables)
    law = float(channel.miss) + channel.difference * masses
    return np.asarray(law * (1 - law) / channel.difference**2 + masses**2)
