"""Whether a combination that was reported once gains from the structure of its table.

The default takes the combinations as one list of answers. The alternative here shrinks the ratios
of the cells to independence, as the default of a product does, with the margins added up from the
same reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import murmurs as mm
from murmurs.channels.axes import along
from murmurs.estimators.methods.shrinkage import shrink
from murmurs.estimators.ratios import shrink_ratios
from murmurs.estimators.residual import Residual
from murmurs.inference.fitting import fitted
from murmurs.inference.grouped import Grouped
from murmurs.numerics.simplex import plausible
from murmurs.numerics.tables import outer, rake

Floats = NDArray[np.float64]

SETTINGS = ((0.5, 10**4), (0.5, 10**6), (1.0, 10**5), (2.0, 10**4))
"""Epsilon of each question, of which the combination has the sum, and numbers of people."""


def by_structure(counts: mm.Counts, shape: tuple[int, int]) -> Floats:
    """Return the table whose ratios to independence are shrunk."""
    fit, n = fitted(counts), counts.n
    places = np.indices(shape).reshape(2, -1)
    margins = []
    for own in places:
        shares = shrink(Grouped(counts, fit, own, plausible(fit.unbiased)), "its sums").shares
        shares = np.maximum(shares, 1e-12)
        margins.append(shares / shares.sum())
    base = outer(margins)
    flat = base.ravel()
    covariance = n * fit.covariance(flat, "population")
    sums = np.vstack([np.eye(size)[:, own] for size, own in zip(shape, places, strict=True)])
    cross = covariance @ sums.T
    lever = np.linalg.lstsq(sums @ cross, cross.T, rcond=1e-9)[0].T
    rest = fit.unbiased - flat
    rest = rest - lever @ (sums @ rest)
    constant = np.maximum(np.diag(covariance - lever @ cross.T), 1e-12).reshape(shape)
    kept = constant / np.diag(covariance).reshape(shape)
    slope = (n * counts.channel.noise(flat, n)[1] + 1 - 2 * flat).reshape(shape)
    squares = [(np.eye(len(own)) - own[:, None]) ** 2 for own in margins]
    found = Residual(
        base,
        base + rest.reshape(shape),
        1,
        constant / n,
        slope * kept / n,
        kept / n,
        along(base, squares),
        outer([1 - 2 * own for own in margins]),
        counts.people,
        0.0,
        1,
    )
    table = np.maximum(shrink_ratios(found).cells, 0) + 1e-9 * base
    return rake(table, [((0,), margins[0]), ((1,), margins[1])])


def compared(
    table: Floats, epsilon: float, n: int, repeat: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the l1 errors of both estimates of a table."""
    once = mm.Subset(k=table.size, epsilon=2 * epsilon)
    shape = (table.shape[0], table.shape[1])
    total = np.zeros(2)
    for _ in range(repeat):
        people = rng.multinomial(n, table.ravel())
        counts = once.simulate(people, rng)
        truth = people.reshape(shape) / n
        plain = mm.estimate(counts).shares.reshape(shape)
        for place, found in enumerate((plain, by_structure(counts, shape))):
            total[place] += np.abs(found - truth).sum() / repeat
    return {"as one list": float(total[0]), "by structure": float(total[1])}
