"""Windows over ordered answers: reports near the answer are likely, all others equally unlikely."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs.channels.histogram import Histogram
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True)
class Banded(Histogram):
    """Cell y counts the reports y, which have probability ``hit`` for answers from y - 2b to y.

    All others have probability ``miss``, and there are k + 2b cells. On a circle there are k, and
    answers from y - b to y + b have probability ``hit``. The inverse on a circle is that of the
    matrix. Otherwise it is least squares, weighted as equal shares demand, among shares that add up
    to one: sums of shares then have the smallest noise of all unbiased estimates, if shares are
    equal, and nearly so if they are not. Single shares are told from their neighbours by the edges
    of their windows alone, so their noise is large.
    """

    k: int
    b: int
    circular: bool
    hit: Fraction
    miss: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell per report."""
        return (self.k if self.circular else self.k + 2 * self.b,)

    def law_of(self, answer: int) -> list[Fraction]:
        """Return ``hit`` in the window of the answer, ``miss`` elsewhere."""
        law = [self.miss] * self.cells[0]
        for place in self.windows[answer].tolist():
            law[place] = self.hit
        return law

    @cached_property
    def windows(self) -> Integers:
        """The cells of the window of each answer, in a row."""
        places = np.arange(self.k)[:, None] + np.arange(2 * self.b + 1)
        return np.asarray((places - self.b) % self.k if self.circular else places)

    @cached_property
    def _step(self) -> float:
        return float(self.hit - self.miss)

    @property
    def base(self) -> Floats:
        """Every report may come from any answer."""
        return np.full(1, float(self.miss))

    def gain(self, shares: Floats) -> Floats:
        """Return the sum of the shares of the answers whose window has the cell, times the step."""
        around = self._around(shares) if self.circular else np.pad(shares, 2 * self.b)
        return self._step * self._sums(around)

    def adjoint(self, weights: Floats) -> Floats:
        """Return the sum of the weights in the window of each answer, times the step."""
        return self._step * self._sums(self._around(weights) if self.circular else weights)

    def _around(self, values: Floats) -> Floats:
        """Return values on a circle, with the first and last b of them at both ends."""
        return np.asarray(values[np.arange(-self.b, self.k + self.b) % self.k])

    def _sums(self, values: Floats) -> Floats:
        """Return the sums of 2b + 1 values, beginning at each."""
        sums = np.concatenate([np.zeros(1), np.cumsum(values)])
        width = 2 * self.b + 1
        return np.asarray(sums[width:] - sums[:-width])

    @cached_property
    def _inside(self) -> Floats:
        """One where the cell is in the window of the answer, zero elsewhere."""
        out = np.zeros((*self.cells, self.k))
        out[self.windows, np.arange(self.k)[:, None]] = 1
        return out

    @cached_property
    def _floats(self) -> Floats:
        return np.asarray(float(self.miss) + self._step * self._inside)

    @cached_property
    def _inverse(self) -> Floats:
        """Solve for the windows alone, which is well conditioned however small the step is."""
        inside = self._inside
        if self.circular:
            return self._of_frequencies(np.asarray(np.linalg.inv(inside)))
        weighted = inside.T / self._floats.mean(axis=1)
        solved = np.linalg.solve(weighted @ inside, np.column_stack([weighted, np.ones(self.k)]))
        out, lean = self._of_frequencies(solved[:, :-1]), solved[:, -1] / solved[:, -1].sum()
        return np.asarray(out + np.outer(lean, 1 - out.sum(axis=0)))

    def _of_frequencies(self, inverse: Floats) -> Floats:
        """Return an inverse of the windows as one of frequencies, which add up to one."""
        return np.asarray((inverse - float(self.miss) * inverse.sum(axis=1)[:, None]) / self._step)
