"""The full likelihood of reports, which counts do not determine for most mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from murmurs.channels.evidence import Evidence
from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.methods.em import Ascent, Progress, Step, climb, concluded
from murmurs.estimators.newton import newton
from murmurs.estimators.precondition import usable
from murmurs.estimators.steps import Precision, rows_of, step_of
from murmurs.numerics.arrays import Floats

SINGLE = 1e-6
"""Log-likelihood per report up to which steps in single precision are taken; then in double."""

WORTHWHILE = 10**9
"""Reports times combinations of answers from which single precision is used at all."""


FEW = 256
"""The most combinations of answers for Newton's method."""

PER_SHARE = 100
"""Reports for each share from which its curvature is estimated."""


class Telling(Protocol):
    """What the likelihood needs from a mechanism: counts, and what reports say about answers."""

    def count(self, reports: object) -> Counts:
        """Add the reports up."""
        ...

    def evidence(self, reports: object) -> tuple[Evidence, ...]:
        """Return the likelihood of each report given each answer, for each question."""
        ...


def report_likelihood(
    mechanism: Telling,
    reports: object,
    *,
    tolerance: float = 0.1,
    most: int = 2000,
    progress: Progress | None = None,
    why: str = ASKED,
) -> Estimate:
    """Return the maximum likelihood estimate from the reports themselves.

    It takes any mechanism, and any product of mechanisms: the likelihoods of a person's reports to
    several questions multiply. For unary encodings at large epsilon its variance is about half that
    of the unbiased shares or less. Fanti, Pihur and Erlingsson (2016), section 3.1. All reports
    must fit in memory; reports by combinations of answers need not.

    >>> import murmurs as mm
    >>> rng = np.random.default_rng(1)
    >>> sue = mm.SUE(k=4, epsilon=4.0)
    >>> reports = sue.encode_many(rng.choice(4, 20_000, p=[0.6, 0.3, 0.1, 0.0]), rng)
    >>> report_likelihood(sue, reports).shares.round(2)
    array([0.6 , 0.29, 0.1 , 0.  ])
    >>> both = mm.Product([sue, mm.KRR(k=2, epsilon=3.0)])
    >>> pairs = both.encode_many(rng.choice(8, 20_000, p=[0.5, 0.1, 0, 0, 0, 0.1, 0, 0.3]), rng)
    >>> report_likelihood(both, pairs).shares.reshape(4, 2).round(1)
    array([[0.5, 0.1],
           [0. , 0. ],
           [0. , 0.1],
           [0. , 0.3]])
    """
    counts = usable(mechanism.count(reports))
    found = most_likely(mechanism.evidence(reports), tolerance, most, progress)
    return concluded(counts, found, "report_likelihood", why)


def most_likely(
    pieces: tuple[Evidence, ...],
    tolerance: float = 0.1,
    most: int = 2000,
    progress: Progress | None = None,
) -> Ascent:
    """Return the shares of all combinations of answers with the largest likelihood.

    Tables of up to 256 combinations are found by Newton's method, larger ones by accelerated EM.
    Long ascents begin in single precision, which takes half the time. The last steps and the
    certificate are in double.
    """
    n, answers = len(pieces[0]), tuple(piece.k for piece in pieces)
    return ascend(
        lambda precision: step_of(pieces, precision),
        lambda every: rows_of(pieces, slice(0, n, every)),
        n,
        answers,
        tolerance,
        most,
        progress,
    )


def ascend(
    steps: Callable[[Precision], Step],
    sample: Callable[[int], Floats],
    n: int,
    answers: tuple[int, ...],
    tolerance: float,
    most: int,
    progress: Progress | None,
) -> Ascent:
    """Return the same, wherever the reports are.

    ``steps`` returns the step in a precision, ``sample`` the likelihoods of one report in
    so many, and ``answers`` are the numbers of answers to each question.
    """
    k = math.prod(answers)
    shares, used = np.full(k, 1 / k), 0
    if len(answers) > 1 and k <= FEW:
        rows = sample(max(1, n // (PER_SHARE * k)))
        return newton(steps(np.float64), rows, shares, n, tolerance, most, progress)
    if len(answers) > 1 and n * k >= WORTHWHILE:
        rough = max(tolerance, SINGLE * n)
        begun = climb(steps(np.float32), shares, n, rough, most, progress)
        shares, used = begun.shares, begun.evaluations
        if used >= most:
            return begun
    found = climb(steps(np.float64), shares, n, tolerance, most - used, progress)
    return Ascent(found.shares, used + found.evaluations, found.gap, found.converged)
