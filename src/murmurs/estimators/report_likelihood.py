"""The full likelihood of reports that support sets of answers, which counts do not determine."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.counts import Counts
from murmurs.estimation import ASKED, Estimate
from murmurs.estimators.em import Progress, climb, concluded
from murmurs.estimators.precondition import usable
from murmurs.numerics.arrays import Floats


class Supporting(Protocol):
    """What the likelihood needs from a mechanism whose reports support sets of answers."""

    @property
    def k(self) -> int:
        """The number of answers."""
        ...

    @property
    def ratio(self) -> Any:
        """How many times as likely a report is given an answer that it supports."""
        ...

    def supports(self, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return which answers each report supports, as packed bits."""
        ...

    def count(self, reports: NDArray[Any]) -> Counts:
        """Add the reports up."""
        ...


def report_likelihood(
    mechanism: Supporting,
    reports: NDArray[Any],
    *,
    tolerance: float = 0.1,
    most: int = 2000,
    progress: Progress | None = None,
    why: str = ASKED,
) -> Estimate:
    """Return the maximum likelihood estimate from the reports themselves.

    For unary encodings, `Subset` and `LocalHashing`: report i has likelihood proportional to
    1 + (ratio - 1) (share of the answers it supports). For unary encodings at large epsilon its
    variance is about half that of the unbiased shares or less. It needs all reports in memory,
    k / 8 bytes each; a step looks up each byte of a report twice.

    >>> import murmurs as mm
    >>> rng = np.random.default_rng(1)
    >>> sue = mm.SUE(k=4, epsilon=4.0)
    >>> reports = sue.encode_many(rng.choice(4, 20_000, p=[0.6, 0.3, 0.1, 0.0]), rng)
    >>> report_likelihood(sue, reports).shares.round(2)
    array([0.6 , 0.29, 0.1 , 0.  ])
    """
    if not hasattr(mechanism, "supports"):
        raise ValueError(
            f"reports of {mechanism} do not each support a set of answers: use likelihood(counts) "
            "or, for CountMeanSketch, regression(counts)"
        )
    counts = usable(mechanism.count(reports))
    rows = np.ascontiguousarray(mechanism.supports(reports))
    excess = float(mechanism.ratio - 1)
    n, k = counts.n, mechanism.k
    load = kernels.load()

    def step(shares: Floats) -> tuple[Floats, float]:
        padded = np.zeros(8 * rows.shape[1])
        padded[:k] = shares
        inverses, by_answer, height = load.support_likelihood(rows, padded, excess)
        return (inverses + excess * by_answer[:k]) / n, height

    found = climb(step, np.full(k, 1 / k), n, tolerance, most, progress)
    return concluded(counts, found, "report_likelihood", why)
