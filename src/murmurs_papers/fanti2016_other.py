"""Fanti, Pihur and Erlingsson (2016), section 3.5: five categories of 100 and all others.

The others are called "Other". The paper says that reports of 100 categories are from RAPPOR with
epsilon = 3, and that there are ten Monte Carlo runs. It does not say which bits were sent, or when
EM stops. A `Reading` is one way to understand it. Reports are simulated one by one and decoded as
in the paper: EM from equal shares. Tables 1 and 2 and figure 2 are in `fanti2016_tables`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats, Integers

Bits = NDArray[np.bool_]

TOP, CATEGORIES, PEOPLE, RATIO, RUNS = 5, 100, 10**5, 0.82, 10
"""The setting; each category has RATIO times the share of the one before, as in table 1."""

PRINTED_TRUE = """
3.567 2.937 2.468 1.952 1.639 6.436  2.984 2.432 1.967 1.581 1.289 5.362
2.473 1.991 1.609 1.223 1.025 4.343  1.881 1.569 1.293 1.069 0.874 3.499
1.625 1.292 1.080 0.892 0.662 2.836  6.380 5.292 4.311 3.495 2.809 11.863"""
PRINTED_FOUND = """
3.306 2.952 2.413 2.018 1.806 6.691  3.045 2.292 2.043 1.588 1.286 5.302
2.336 2.173 1.587 1.115 0.916 4.450  1.902 1.506 1.354 1.087 0.887 3.510
1.763 1.233 1.188 0.873 0.615 2.801  6.531 5.338 4.245 3.513 2.916 11.419"""


def printed(text: str) -> Floats:
    """Return a printed table of percentages as shares.

    >>> round(float(np.abs(printed(PRINTED_TRUE) - printed(PRINTED_FOUND)).sum()), 4)
    0.0326
    """
    return np.array(text.split(), float).reshape(TOP + 1, TOP + 1) / 100


class Reading(NamedTuple):
    """One way to read the setting: a set bit is sent with probability ``hit``, others ``miss``.

    Without ``hashes``, each category has a bit of its own (Basic RAPPOR).
    """

    name: str
    hit: float
    miss: float
    bits: int = CATEGORIES
    hashes: int = 0
    cohorts: int = 1
    stop: float = 1e-6

    @property
    def epsilon(self) -> float:
        """What one report reveals."""
        odds = self.hit * (1 - self.miss) / (self.miss * (1 - self.hit))
        return max(self.hashes, 1) * math.log(odds)


def with_epsilon(name: str, epsilon: float, hit: float | None = None, **options: Any) -> Reading:
    """Return the reading with this epsilon; by default bits are kept and flipped symmetrically."""
    own = epsilon / max(options.get("hashes", 0), 1)
    if hit is None:
        hit = 1 / (1 + math.exp(-own / 2))
        return Reading(name, hit, 1 - hit, **options)
    return Reading(name, hit, 1 / (1 + (1 - hit) / hit * math.exp(own)), **options)


def likelihoods(
    reading: Reading, answers: Integers, rng: np.random.Generator
) -> tuple[Floats, int]:
    """Return the likelihoods of the reports of one question, and how many answers stand out.

    The columns are the top answers, Other, and Other by the formula of section 3.2 as printed: it
    subtracts the bits of all people who do not hold a top category, not only of those who do.
    """
    n = len(answers)
    cohort = rng.integers(0, reading.cohorts, n)
    held = _map(reading, rng)
    gap = reading.hit - reading.miss
    chance = reading.miss + gap * held
    reports = np.empty((n, reading.bits), np.bool_)
    for at in range(0, n, 10_000):
        rows = slice(at, at + 10_000)
        own = chance[cohort[rows], answers[rows]]
        reports[rows] = rng.random(own.shape, np.float32) < own
    shares, errors = _margins(reading, reports, cohort, held)
    top = shares[:TOP]
    left = max(1 - top.sum(), 1e-9)
    logs = np.empty((n, TOP + 2))
    for c in range(reading.cohorts):
        rows_of = np.flatnonzero(cohort == c)
        bits = reports[rows_of]
        rate = bits.mean(axis=0)
        as_printed = reading.miss + gap * (top @ held[c, :TOP])
        others = [(rate - known) / left for known in (top @ chance[c, :TOP], as_printed)]
        rates = np.vstack([chance[c, :TOP], np.clip(others, 1e-4, 1 - 1e-4)])
        base = np.log1p(-rates).sum(axis=1)
        logs[rows_of] = bits.astype(np.float32) @ (np.log(rates) - np.log1p(-rates)).T + base
    detected = int((shares > 3.4808 * errors).sum())  # Bonferroni, 100 tests at 5 % on two sides
    return np.exp(logs - logs.max(axis=1, keepdims=True)), detected


def stopped_em(first: Floats, second: Floats, stop: float, most: int = 1000) -> Floats:
    """Return the table after plain EM from equal shares, when no cell changes by more."""
    one, two = first.astype(np.float32), second.astype(np.float32)
    table = np.full((one.shape[1], two.shape[1]), 1 / (one.shape[1] * two.shape[1]))
    for _ in range(most):
        law = np.einsum("ij,ij->i", one @ table.astype(np.float32), two)
        new = table * ((one / law[:, None]).T @ two) / len(one)
        change = float(np.abs(new - table).max())
        table = np.asarray(new)
        if change < stop:
            break
    return table


def _map(reading: Reading, rng: np.random.Generator) -> Floats:
    """Return which bits each category sets in each cohort."""
    if not reading.hashes:
        return np.eye(CATEGORIES)[None]
    held = np.zeros((reading.cohorts, CATEGORIES, reading.bits))
    at = rng.integers(0, reading.bits, (reading.cohorts, CATEGORIES, reading.hashes))
    np.put_along_axis(held, at, 1.0, axis=2)
    return held


def _margins(
    reading: Reading, reports: Bits, cohort: Integers, held: Floats
) -> tuple[Floats, Floats]:
    """Return the shares of the categories by least squares, and their standard errors."""
    gap = reading.hit - reading.miss
    design, rates, noise = [], [], []
    for c in range(reading.cohorts):
        own = reports[cohort == c]
        rate = own.mean(axis=0)
        design.append(held[c].T)
        rates.append((rate - reading.miss) / gap)
        noise.append(rate * (1 - rate) / len(own) / gap**2)
    scale = 1 / np.sqrt(np.concatenate(noise))
    matrix = np.concatenate(design) * scale[:, None]
    inverse = np.linalg.pinv(matrix.T @ matrix)
    shares = inverse @ (matrix.T @ (np.concatenate(rates) * scale))
    return shares, np.sqrt(np.diag(inverse))
