"""The low-rank fit of a two-way table: association that few latent classes explain.

Whitened by the covariances of the two questions' estimates, the rest beyond independence has noise
of variance one in every entry. Its singular values are shrunk as is optimal for such a matrix
(Gavish and Donoho 2017, Frobenius loss): those below sqrt(p) + sqrt(q) vanish.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from murmurs.estimators.residual import Side
from murmurs.numerics.arrays import Floats

STEEPEST = 3.0
"""The largest derivative of a shrunk singular value, which is infinite at the threshold."""


@dataclass(frozen=True)
class LowRank:
    """The rest of a table of two questions beyond independence, from n reports."""

    rest: Floats
    sides: tuple[Side, Side]
    n: int

    def whitened(self, rest: Floats) -> Floats:
        """Return a rest in units of the noise."""
        first, second = (side.whitening[0] for side in self.sides)
        return np.asarray(math.sqrt(self.n) * first @ rest @ second.T)

    def distance(self, rest: Floats) -> float:
        """Return the squared distance of a rest from the observed one, in units of the noise."""
        return float((self.whitened(self.rest - rest) ** 2).sum())

    def shrunk(self) -> tuple[Floats, float]:
        """Return the rest with shrunk singular values, and the degrees of freedom it spends.

        The latter is the divergence of the estimate (Candes, Sing-Long and Trzasko 2013).
        """
        white = self.whitened(self.rest)
        p, q = white.shape
        left, values, right = np.linalg.svd(white, full_matrices=False)
        kept = values > math.sqrt(p) + math.sqrt(q)
        root = np.sqrt(np.maximum((values**2 - p - q) ** 2 - 4 * p * q, 1e-9))
        size = np.where(kept, values, 1.0)
        new = np.where(kept, root / size, 0.0)
        slope = np.minimum(2 * (size**2 - p - q) / root - root / size**2, STEEPEST)
        gaps = values[:, None] ** 2 - values**2
        gaps[np.abs(gaps) < 1e-9] = np.inf
        spent = float(slope[kept].sum()) + abs(p - q) * float((new / size).sum())
        spent += 2 * float(((values * new)[:, None] / gaps).sum())
        first, second = (side.whitening[1] for side in self.sides)
        rest = first @ (left * new) @ right @ second.T / math.sqrt(self.n)
        return rest, min(max(spent, 0.0), float(p * q))
