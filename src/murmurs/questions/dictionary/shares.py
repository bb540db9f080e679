"""The shares of strings that were found, from the levels that saw them whole.

At a level where a string is cut, its bucket also holds all other strings with the same beginning,
known or not. So only the levels at which the string is whole count for its share, each weighted by
its number of reports. At every level, the pieces of all strings that were found are solved for
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmurs.channels.tables import private_noise
from murmurs.counts import Counts
from murmurs.hashing.pieces import WHOLE, piece
from murmurs.inference.fit import Fit, Target
from murmurs.inference.fitting import fitted
from murmurs.inference.found_limits import limits_of_found
from murmurs.inference.intervals import Scale
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Level:
    """The fit of one level: which of its answers each string is, and which strings are whole."""

    fit: Fit
    answers: Integers
    weights: Floats

    @property
    def n(self) -> int:
        """The number of reports of the level."""
        return self.fit.n


@dataclass(frozen=True, eq=False)
class LevelsFit(Fit):
    """Unbiased shares as means over levels; the last answer stands for all other strings."""

    levels: tuple[Level, ...]
    margins: Floats

    @cached_property
    def unbiased(self) -> Floats:
        """The means of the shares at the levels, and the rest."""
        found = sum(level.weights * level.fit.unbiased[level.answers] for level in self.levels)
        return np.append(found, 1 - np.sum(found))

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return c and s: the groups of people that the levels ask are samples, too."""
        found = shares[:-1]
        private, slope, sampled = np.zeros(len(found)), np.zeros(len(found)), np.zeros(len(found))
        for level in self.levels:
            constant, own = level.fit.noise(self._at(level, shares))
            squares = level.weights**2
            private += squares * (constant[level.answers] + own[level.answers] * found)
            slope += squares * own[level.answers]
            sampled += squares / max(level.n, 1)
        variance = private + sampled * found * (1 - found)
        held = float(found.sum())
        rest = float(private.sum()) + float(sampled.max(initial=0.0)) * held * (1 - held)
        return private_noise(
            np.append(variance, rest), np.append(slope, 0.0), shares, float(self.counts.people)
        )

    def _at(self, level: Level, shares: Floats) -> Floats:
        """Return the shares of the answers of a level, which may be shared beginnings."""
        size = len(level.fit.unbiased)
        out = np.bincount(level.answers, shares[:-1], minlength=size)[:size]
        out[-1] = max(0.0, 1 - float(out[:-1].sum()))
        return np.asarray(out)

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return variances as in `noise`, and the covariances that sampling adds."""
        found, people = shares[:-1], self.counts.people
        constant, slope = self.noise(shares)
        together = sum(
            np.outer(level.weights, level.weights) / max(level.n, 1) for level in self.levels
        )
        out = -np.outer(found, found) * (together - 1 / people)
        np.fill_diagonal(out, (constant + slope * shares)[:-1])
        if target == "population":
            out += (np.diag(found) - np.outer(found, found)) / people
        rest = -out.sum(axis=0)
        return np.block([[out, rest[:, None]], [rest[None, :], -rest.sum()]])

    def limits(self, scale: Scale, level: float) -> Floats:
        """Return limits that hold given that the strings were found; the rest is no string."""
        out, margins = super().limits(scale, level), np.append(self.margins, np.inf)
        out[:-1] = limits_of_found(self.unbiased, margins, scale, level)[:-1]
        return out

    @property
    def tells_absence(self) -> bool:
        """True: the strings are solved for, and whole."""
        return True


def fit_of(
    counts: Counts, mechanism: Prefixes, found: tuple[str, ...], margins: Floats
) -> LevelsFit:
    """Return the fit of the strings that were found, in counts of prefixes.

    ``margins`` say by how many standard errors each string was found; see `Found.margins`.
    """
    whole, answers, fits = [], [], []
    for number, length in enumerate(mechanism.lengths):
        level = mechanism.at_level(counts, number)
        pieces = [piece(text, length) for text in found]
        different = {text: i for i, text in enumerate(dict.fromkeys(pieces))}
        answers.append(np.array([different[text] for text in pieces], np.int64))
        is_last = number == len(mechanism.lengths) - 1
        seen = [text.startswith(WHOLE) or is_last for text in pieces]
        whole.append(np.array(seen, np.float64) * level.n)
        fits.append(fitted(level.over(list(different))))
    total = np.maximum(np.sum(whole, axis=0), 1.0)
    levels = tuple(
        Level(fit, own, reports / total)
        for fit, own, reports in zip(fits, answers, whole, strict=True)
    )
    return LevelsFit(counts.over(found), levels, margins)
