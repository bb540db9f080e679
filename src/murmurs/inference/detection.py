"""Test which answers anybody holds, with control of false detections."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import real
from murmurs.inference.fit import Fit
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import binomial_tail, normal_tail

Control = Literal["bonferroni", "fdr"]

_NO_NOISE = 1e-12
"""Shares, and variances of one person's share, below this are zero up to rounding."""


@dataclass(frozen=True, eq=False)
class Detection:
    """Which answers somebody holds, with p-values of the hypothesis that nobody does.

    With "bonferroni", the probability that any absent answer is marked present is at most
    error_rate. With "fdr" (Benjamini and Yekutieli 2001, valid under any dependence), the expected
    fraction of absent answers among those marked present is at most error_rate.
    """

    present: NDArray[np.bool_]
    p_values: Floats
    error_rate: float
    control: Control

    def to_document(self) -> dict[str, Any]:
        """Return the tests as plain values for JSON."""
        return {
            "error_rate": self.error_rate,
            "control": self.control,
            "present": self.present.tolist(),
            "p_values": self.p_values.tolist(),
        }

    def __repr__(self) -> str:
        return (
            f"Detection({int(self.present.sum())} of {len(self.present)} answers present, "
            f"error_rate={self.error_rate:g}, control={self.control!r})"
        )


def detect(fit: Fit, error_rate: float = 0.05, control: Control = "bonferroni") -> Detection:
    """Test for each answer the hypothesis that nobody holds it.

    If nobody does, the number of reports that support it is exactly binomial, with the probability
    of false support. If the shares do not come from such counts, or people report repeatedly, the
    test uses the law of their noise instead. Where no other answer leads to a report that counts
    for this one, as in some designs on paper, a single such report is proof.
    """
    error_rate = real(error_rate, "error_rate", 1e-12, 0.5)
    if fit.n == 0:
        raise ValueError("there are no reports to test")
    if not fit.tells_absence:
        raise ValueError(
            f"absent answers of {fit.counts.mechanism} cannot be told apart from those that share "
            "buckets with common ones: test selection(counts)"
        )
    if fit.support is not None:
        support, _, miss = fit.support
        p_values = binomial_tail(support, fit.n, float(miss))
    else:
        constant, _ = fit.noise(plausible(fit.unbiased))
        proof = constant * fit.n <= _NO_NOISE
        scores = fit.unbiased / np.sqrt(np.where(proof, 1.0, constant))
        p_values = _tail(scores, fit.counts.people, fit.channel.false_support)
        p_values = np.where(proof, fit.unbiased <= _NO_NOISE, p_values)
    for group in fit.confounded:  # each of them may be absent, whatever the counts
        p_values[group] = 1.0
    return Detection(rejected(p_values, error_rate, control), p_values, error_rate, control)


def _tail(scores: Floats, n: int, chance: float | None) -> Floats:
    """Return the probability of a larger score: normal, or skewed as counts of support are.

    In the second case, a score is that of the binomial number of people who would support an
    absent answer.
    """
    if chance is None:
        return normal_tail(scores)
    counts = n * chance + scores * math.sqrt(n * chance * (1 - chance))
    return binomial_tail(np.minimum(counts, n), n, chance)


def rejected(p_values: Floats, error_rate: float, control: Control) -> NDArray[np.bool_]:
    """Return which hypotheses are rejected, with control of false rejections."""
    k = len(p_values)
    if control == "bonferroni":
        return np.asarray(p_values <= error_rate / k)
    if control != "fdr":
        raise ValueError(f"control must be 'bonferroni' or 'fdr', not {control!r}")
    harmonic = float((1 / np.arange(1, k + 1)).sum())
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= error_rate * np.arange(1, k + 1) / (k * harmonic))
    return np.asarray(p_values <= (ordered[below[-1]] if len(below) else -1.0))
