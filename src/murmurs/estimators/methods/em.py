"""Expectation maximisation, accelerated, with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from murmurs.boundary.checks import real, whole
from murmurs.channels.channel import Channel
from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.precondition import UnfitCountsError, usable
from murmurs.numerics.arrays import Floats

Progress = Callable[[int, float], None]
"""Called after each step with the evaluations so far and the gap."""


ROUNDING = 2.0**-44
"""What rounding may add to the gap, for each report: with 10**12 of them, 0.06."""


class NoiseDominates(UserWarning):
    """A warning: the noise is larger than the shares, and the most likely shares fit the noise."""


@dataclass(frozen=True)
class Ascent:
    """The result of maximising a likelihood."""

    shares: Floats
    evaluations: int
    gap: float
    converged: bool


Step = Callable[[Floats], tuple[Floats, float]]
"""From shares to the derivatives of the log-likelihood, over n, and to the log-likelihood."""


def climb(
    step: Step, start: Floats, n: int, tolerance: float, most: int, progress: Progress | None
) -> Ascent:
    """Maximise a mixture likelihood over the simplex by accelerated EM, with a certificate.

    An EM step multiplies the shares by their derivatives d. As the log-likelihood is concave, it is
    at most n (max d - 1) below its maximum: that is the certificate, up to rounding. Two EM steps
    give a direction that is extrapolated (SQUAREM, Varadhan and Roland 2008), up to a maximal
    length that grows while the likelihood increases and shrinks when it does not.
    """
    tolerance, most = real(tolerance, "tolerance", 0.0, 1e9), whole(most, "most", 1, 10**9)
    shares = start
    derivative, height = step(shares)
    evaluations, longest = 1, 4.0
    while True:
        gap = n * (float(derivative.max()) - 1)
        if progress is not None:
            progress(evaluations, gap)
        if gap <= tolerance or evaluations >= most:
            return Ascent(shares, evaluations, gap, gap <= max(tolerance, n * ROUNDING))
        one = _normal(shares * derivative)
        two = _normal(one * step(one)[0])
        r, v = one - shares, two - 2 * one + shares
        bent = float(np.sqrt((v * v).sum()))
        length = min(longest, max(1.0, float(np.sqrt((r * r).sum())) / max(bent, 1e-300)))
        further = shares + 2 * length * r + length * length * v
        candidate = _normal(np.maximum(further, 1e-2 * two))
        derivative_there, height_there = step(candidate)
        evaluations += 2
        if height_there >= height - 1e-13 * abs(height):  # lower by rounding only
            longest = 4 * longest if length == longest else longest
        else:
            longest = max(1.0, longest / 4)
            candidate = two
            derivative_there, height_there = step(two)
            evaluations += 1
        shares, derivative, height = candidate, derivative_there, height_there


def _normal(shares: Floats) -> Floats:
    return np.asarray(shares / shares.sum())


def histogram_step(channel: Channel, frequencies: Floats, n: int) -> Step:
    """Return the step for cells that are a histogram of the reports."""

    def step(shares: Floats) -> tuple[Floats, float]:
        law = channel.mean(shares)
        weights = frequencies / law
        derivative = channel.adjoint(weights) + float((channel.base * weights).sum())
        return derivative, n * float((frequencies * np.log(law)).sum())

    return step


def em(
    counts: Counts,
    *,
    tolerance: float = 0.01,
    most: int = 20_000,
    progress: Progress | None = None,
    why: str = ASKED,
) -> Estimate:
    """Return the shares with the largest likelihood, by accelerated EM ("IBU" when plain).

    It works for every channel whose cells are a histogram of the reports. Each step applies the
    channel and its adjoint once: O(k) for `KRR`, a fast transform for the others, never a k x k
    matrix. ``tolerance`` is in units of log-likelihood: the result is certified to be within it of
    the maximum, or has ``converged=False``.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=3, epsilon=1.0)
    >>> em(rr.count([0] * 500 + [1] * 300 + [2] * 200)).shares.round(2)
    array([0.77, 0.23, 0.  ])
    """
    channel = of_a_histogram(counts).channel
    frequencies = counts.cells / counts.n
    start = np.full(channel.k, 1 / channel.k)
    step = histogram_step(channel, frequencies, counts.n)
    found = climb(step, start, counts.n, tolerance, most, progress)
    return concluded(counts, found, "em", why)


def of_a_histogram(counts: object) -> Counts:
    """Return counts that determine the likelihood of the reports; refuse others."""
    found = usable(counts)
    if found.channel.is_histogram:
        return found
    rule = f"counts of {found.mechanism} do not determine the likelihood of its reports"
    if found.channel.support(found.cells) is None:
        raise UnfitCountsError(rule, "regression")
    raise UnfitCountsError(rule, "composite", ", or report_likelihood(mechanism, reports)")


def concluded(counts: Counts, found: Ascent, estimator: str, why: str) -> Estimate:
    """Return the estimate at the maximum that was found, with its notes."""
    notes = list(noise_notes(counts, found.shares))
    if not found.converged:
        notes.append(
            f"not converged: the log-likelihood may be {found.gap:.3g} below its maximum "
            f"after {found.evaluations} evaluations"
        )
    return Estimate(
        counts,
        found.shares,
        estimator,
        why,
        iterations=found.evaluations,
        gap=max(found.gap, 0.0),
        converged=found.converged,
        notes=tuple(notes),
    )


def noise_notes(counts: Counts, shares: Floats) -> tuple[str, ...]:
    """Warn and return a note if the noise of the counts is larger than the shares themselves."""
    noise = float(counts.channel.variance(shares * counts.n).sum())
    if noise <= float((shares**2).sum()):
        return ()
    text = (
        "noise dominates: the most likely shares fit the noise; use estimate(), which smooths it, "
        "or ask more people"
    )
    warnings.warn(text, NoiseDominates, stacklevel=3)
    return (text,)
