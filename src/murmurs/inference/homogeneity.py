"""Whether answers go together in the same way in several groups of people.

Groups may answer each question differently, and so have different margins, although the answers go
together in the same way. What the margins do not change are the odds ratios. So the hypothesis is
that these are the same in all groups: the shares of group s are a_s(i) b_s(j) c(i, j), a log-linear
model without interaction of all three (Bartlett 1935). It is fitted to the unbiased tables by least
squares in units of their noise, and the squared distance that is left has a chi-square distribution
(minimum chi-square: Berkson 1980). It needs no logarithm of an unbiased share, which may be
negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.channels.product import MOST_JOINT
from murmurs.inference.association import LEVEL
from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import chi_square_tail
from murmurs.numerics.tables import rake
from murmurs.present.text import p_text

MOST_WORK = 1e10
"""Groups times combinations cubed, up to which the groups are compared."""

ROUNDS, STEPS = 4, 200
"""Times that the noise is taken at the fit again, and steps of least squares each time."""

KNOWN = 1.0
"""A parameter is counted as fitted if changing it by one moves the shares by so much noise."""

FLOOR, OF_NOISE = 1e-3, 0.1
"""The part of independence in the table that the fit starts from: no share starts at zero.

It is at most this part of the noise: far above the noise, a share falls by a factor of e each step.
"""


@dataclass(frozen=True)
class Homogeneity:
    """A test whether odds ratios are the same in several groups."""

    groups: int
    statistic: float
    freedom: int
    p_value: float

    @property
    def stands_out(self) -> bool:
        """Whether the p-value is at most 0.05."""
        return self.p_value <= LEVEL

    @property
    def sentence(self) -> str:
        """What the test says, in one sentence."""
        said = "differs between" if self.stands_out else "may be the same in"
        equals = "" if self.p_value < 1e-6 else "= "
        freedom = f"{self.freedom} degree{'' if self.freedom == 1 else 's'} of freedom"
        return (
            f"How the answers go together {said} the segments: p {equals}{p_text(self.p_value)} "
            f"(test of equal odds ratios, {freedom})."
        )

    def to_document(self) -> dict[str, Any]:
        """Return the test as plain values for JSON."""
        names = ("groups", "statistic", "freedom", "p_value", "sentence")
        return {name: getattr(self, name) for name in names}


def homogeneity(
    fits: Sequence[Fit], sizes: tuple[int, int], target: Target = "population"
) -> Homogeneity:
    """Test whether odds ratios are the same in several tables of different people.

    ``fits`` have the unbiased shares of the combinations of answers to two questions, with
    ``sizes`` answers each.

    >>> import murmurs as mm
    >>> from murmurs.inference.fitting import fitted
    >>> both = mm.Product([mm.KRR(k=2, epsilon=2.0)] * 2)
    >>> rng = np.random.default_rng(1)
    >>> north, south, west = [8000, 2000, 2000, 8000], [900, 900, 100, 1600], [5000] * 4
    >>> same = [fitted(both.simulate(people, rng)) for people in (north, south)]
    >>> print(homogeneity(same, (2, 2)).p_value > 0.05)  # both odds ratios are 16
    True
    >>> print(homogeneity([*same, fitted(both.simulate(west, rng))], (2, 2)).p_value < 1e-6)
    True
    """
    k = math.prod(sizes)
    if k > MOST_JOINT or len(fits) * k**3 > MOST_WORK:
        raise ValueError(
            f"{k} combinations of answers in {len(fits)} segments are too many to compare how they "
            "go together: merge rare answers, or compare fewer segments"
        )
    if len(fits) < 2:
        raise ValueError("how answers go together is compared between at least two segments")
    fits = [fit.without_collisions() or fit for fit in fits]
    found = [fit.unbiased for fit in fits]
    tables = _start(fits, sizes)
    design = _design(sizes)
    own = sum(sizes) - 2
    statistic, seen, known = 0.0, 0, 0
    for _ in range(ROUNDS):
        whitenings = [
            _whitening(fit.covariance(table, target))
            for fit, table in zip(fits, tables, strict=True)
        ]
        seen = sum(len(whitening) for whitening in whitenings)
        if seen == 0:
            raise ValueError("there is no noise and no sampling to compare the segments with")
        tables, statistic, known = _fit(found, tables, whitenings, design, own)
    freedom = max(seen - known, 1)
    return Homogeneity(len(fits), statistic, freedom, chi_square_tail(statistic, freedom))


def _start(fits: Sequence[Fit], sizes: tuple[int, int]) -> list[Floats]:
    """Return tables with the margins of the groups and the odds ratios of all people together."""
    people = [fit.counts.people for fit in fits]
    tables = [plausible(fit.unbiased).reshape(sizes) for fit in fits]
    noise = [
        np.diag(fit.covariance(t.ravel(), "population"))
        for fit, t in zip(fits, tables, strict=True)
    ]
    floor = min(FLOOR, OF_NOISE * math.sqrt(min(max(float(own.max()), 0.0) for own in noise)))
    floor = max(floor, 1e-12)
    tables = [(1 - floor) * table + floor / table.size for table in tables]
    common = np.average(tables, axis=0, weights=people)
    return [
        rake(common, [((0,), table.sum(axis=1)), ((1,), table.sum(axis=0))]).ravel()
        for table in tables
    ]


def _design(sizes: tuple[int, int]) -> Floats:
    """Return how logarithms of shares depend on rows, on columns and on combinations of both."""
    row, column = (np.eye(size)[:, 1:] for size in sizes)
    ones = [np.ones((size, 1)) for size in sizes]
    parts = [np.kron(row, ones[1]), np.kron(ones[0], column), np.kron(row, column)]
    return np.hstack(parts)


def _whitening(covariance: Floats) -> Floats:
    """Return the map to coordinates in which the noise is the identity."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > max(1e-9 * values[-1], 1e-24)
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T)


def _fit(
    found: list[Floats],
    tables: list[Floats],
    whitenings: list[Floats],
    design: Floats,
    own: int,
) -> tuple[list[Floats], float, int]:
    """Return the nearest tables with equal odds ratios, their distance, and what was fitted.

    Least squares with the steps of Levenberg and Marquardt, in the logarithms of the shares.
    """
    shared = design.shape[1] - own
    logs = [np.log(table) for table in tables]

    def distances(logs: list[Floats]) -> Floats:
        parts = zip(whitenings, found, logs, strict=True)
        return np.concatenate([white @ (own - _shares(log)) for white, own, log in parts])

    rest = distances(logs)
    damping = 1e-3
    for _ in range(STEPS):
        slope = _slope([_shares(log) for log in logs], whitenings, design, own)
        square, right = slope.T @ slope, slope.T @ rest
        before, least = float(rest @ rest), 1e-9 * max(float(square.max()), 1.0)
        damping = max(damping, least)
        for _ in range(12):
            step = np.linalg.solve(square + damping * np.eye(len(square)), right)
            step *= min(1.0, 3 / max(float(np.abs(step).max()), 1e-300))
            new = [
                log + design @ np.concatenate([step[g * own : (g + 1) * own], step[-shared:]])
                for g, log in enumerate(logs)
            ]
            after = distances(new)
            if float(after @ after) <= before:
                logs, rest, damping = new, after, max(damping / 5, least)
                break
            damping *= 10
        if before - float(rest @ rest) < 1e-6:
            break
    shares = [_shares(log) for log in logs]
    slope = _slope(shares, whitenings, design, own)
    known = int((np.linalg.svd(slope, compute_uv=False) > KNOWN).sum())
    return shares, float(rest @ rest), known


def _shares(logs: Floats) -> Floats:
    """Return the shares with these logarithms, up to a constant; none is exactly zero."""
    shares = np.exp(np.maximum(logs - logs.max(), -40))
    return np.asarray(shares / shares.sum())


def _slope(tables: list[Floats], whitenings: list[Floats], design: Floats, own: int) -> Floats:
    """Return how all shares, in units of their noise, change with the parameters."""
    blocks = []
    for group, (table, white) in enumerate(zip(tables, whitenings, strict=True)):
        change = white @ (table[:, None] * (design - table @ design))
        block = np.zeros((len(white), len(tables) * own + design.shape[1] - own))
        block[:, group * own : (group + 1) * own] = change[:, :own]
        block[:, len(tables) * own :] = change[:, own:]
        blocks.append(block)
    return np.concatenate(blocks)
