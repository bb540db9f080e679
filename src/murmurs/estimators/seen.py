"""What counts say about ordered shares: by their unbiased shares, or by the cells themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurs.estimators.estimation import Estimate
from murmurs.inference.fit import Fit
from murmurs.numerics.arrays import TINY, Floats, Integers
from murmurs.numerics.simplex import plausible

TELLING = 1.5
"""How many times more the cells must say about smooth shapes than the single shares do, for the
likelihood of the cells to be used."""

MOST_GROUPS = 256
"""The most cells and answers, or groups of them, that the information is computed from."""


@dataclass(frozen=True, eq=False)
class SeenShares:
    """Unbiased shares with independent normal noise; ``heaped`` is what heaps take of them."""

    unbiased: Floats
    noise: Floats
    heaped: Floats

    @classmethod
    def of(cls, flat: Estimate) -> SeenShares:
        """Return the unbiased shares behind an estimate, with the noise that it implies."""
        fit = flat.fit
        estimates, constant, slope = fit.reweighted(flat.shares) or fit.refined()
        noise = np.maximum(constant + slope * flat.shares, 1e-4 * constant + TINY)
        return cls(estimates, noise, np.zeros(len(noise)))

    @property
    def rest(self) -> float:
        """The part of the people that is not in heaps."""
        return 1 - float(self.heaped.sum())

    def at(self, shares: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood of smooth shares, and its derivatives."""
        away = self.unbiased - self.heaped - self.rest * shares
        weighted = away / self.noise
        log = -0.5 * float(away @ weighted + np.log(2 * np.pi * self.noise).sum())
        return log, self.rest * weighted

    def information(self, shares: Floats, directions: Floats) -> Floats:
        """Return Fisher's information at these shares along each direction."""
        seen = self.rest / np.sqrt(self.noise[:, None]) * directions
        return np.asarray(seen.T @ seen)


@dataclass(frozen=True, eq=False)
class SeenCells:
    """Counts that are a histogram of the reports, and their likelihood.

    The information is that of neighbouring cells in groups, which is nearly all of it, with
    neighbouring answers in groups: it says only how far steps go, and how sure the spline is.
    ``law`` is that of the groups, and ``firsts`` the first answer of each.
    """

    fit: Fit
    law: Floats
    firsts: Integers

    @classmethod
    def of(cls, fit: Fit, circular: bool) -> SeenCells | None:
        """Return the cells if they say more about smooth shapes than the single shares do."""
        channel, shares = fit.channel, plausible(fit.unbiased)
        if not channel.is_histogram:
            return None
        place = np.arange(channel.k) / channel.k
        shapes = [np.cos(2 * np.pi * place), np.sin(2 * np.pi * place)]
        shapes = shapes if circular else [np.cos(np.pi * (place + 0.5 / channel.k))]
        frequency = np.maximum(channel.mean(shares), TINY)
        told = sum(fit.n * float((channel.gain(x) ** 2 / frequency).sum()) for x in shapes)
        constant, slope = fit.noise(shares)
        noise = np.maximum(constant + slope * shares, TINY)
        if told < TELLING * sum(float((x**2 / noise).sum()) for x in shapes):
            return None
        law = channel.matrix()
        firsts, cells = (np.arange(0, size, -(-size // MOST_GROUPS)) for size in law.shape)
        law = np.add.reduceat(np.add.reduceat(law, cells, axis=1), firsts)
        law /= np.diff(firsts, append=channel.k)[:, None]
        return cls(fit, law.T, firsts)

    def at(self, shares: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood of smooth shares, and its derivatives."""
        channel, cells = self.fit.channel, self.fit.counts.cells
        law = np.maximum(channel.mean(shares), TINY)
        weights = cells / law
        slope = channel.adjoint(weights) + float((channel.base * weights).sum())
        return float((cells * np.log(law)).sum()), slope

    def information(self, shares: Floats, directions: Floats) -> Floats:
        """Return Fisher's information at these shares along each direction."""
        law = np.maximum(self.law @ np.add.reduceat(shares, self.firsts), TINY)
        along = self.law @ np.add.reduceat(directions, self.firsts)
        seen = np.sqrt(self.fit.n / law)[:, None] * along
        return np.asarray(seen.T @ seen)
