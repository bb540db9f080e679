"""What the counts of one level say about each of many pieces of strings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.hashing import strings
from murmurs.hashing.layout import Keyed
from murmurs.inference.fit import fitted
from murmurs.mechanisms.orr import ORR
from murmurs.numerics.arrays import Floats

STRONG, MOST_STRONG = 6.0, 300
"""Standard errors above which a piece is solved for, and the most that are."""

SETTLED = 2
"""How often the strong pieces are chosen again, given what the others leave."""

AT_ONCE = 2**22
"""Buckets that are hashed at a time."""

ENOUGH_FOR_SPREAD = 1000
"""Pieces from which the spread of the scores is estimated: nearly all of them are absent."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The estimated share of each piece, its score, and the standard error of an absent one.

    A score is the signed root of the deviance of an absent piece: a standard normal number if the
    piece is absent, also where few reports make the share itself skewed.
    """

    shares: Floats
    scores: Floats
    error: float


def error_of_absent(mechanism: ORR, n: float) -> float:
    """Return the standard error of the share of a string that nobody holds, for n reports."""
    miss, hit = _probabilities(mechanism)
    return math.sqrt(miss * (1 - miss) / max(n, 1.0)) / (hit - miss)


def _probabilities(mechanism: ORR) -> tuple[float, float]:
    """Return how often a report counts for an absent string, over hashes, and for its own."""
    truth = float(mechanism.truth_probability)
    return 1 / mechanism.width, truth + (1 - truth) / mechanism.width


@dataclass(frozen=True, eq=False)
class Unkept:
    """The buckets of many pieces, hashed again whenever they are needed instead of kept."""

    keys: NDArray[np.uint64]
    mechanism: ORR

    def totals(self, table: Floats) -> Floats:
        """Return for each piece the sum of the table over its buckets."""
        orr = self.mechanism
        step = max(1, AT_ONCE // orr.cohorts)
        parts = [
            Keyed(
                np.ascontiguousarray(self.keys[:, start : start + step]),
                orr.cohorts,
                orr.width,
                orr.salt,
            ).totals(table)
            for start in range(0, self.keys.shape[1], step)
        ]
        return np.concatenate(parts)


def weigh(counts: Counts, pieces: Sequence[str]) -> Evidence:
    """Weigh each piece beside the strong ones, which are solved for together."""
    mechanism = cast(ORR, counts.mechanism)
    miss, hit = _probabilities(mechanism)
    layout = Unkept(strings.keys(pieces), mechanism)
    channel = mechanism.channel.conditioned_on(counts.cells)
    masses, parts = channel.masses_of(counts.cells), channel.row_parts
    error = error_of_absent(mechanism, counts.n)
    shares = (layout.totals(parts * masses) - miss) / (1 - miss)
    for _ in range(SETTLED):
        strong = np.flatnonzero(shares > STRONG * error)
        strong = strong[np.argsort(-shares[strong], kind="stable")][:MOST_STRONG]
        if not len(strong):
            break
        few = counts.over([pieces[i] for i in strong.tolist()])
        solved = fitted(few).unbiased
        left = masses - cast(Tables, few.channel).masses(solved)
        shares = layout.totals(parts * left) / (1 - miss)
        shares[strong] += solved[:-1]
    scores = _scores(shares, counts.n, hit, miss)
    spread = 1.0
    if len(scores) > ENOUGH_FOR_SPREAD:
        spread = max(1.0, float(1.4826 * np.median(np.abs(scores - np.median(scores)))))
    return Evidence(shares, scores / spread, error * spread)


def _scores(shares: Floats, n: int, hit: float, miss: float) -> Floats:
    """Return signed roots of the binomial deviance between the share and none at all."""
    seen = np.clip(miss + (hit - miss) * shares, 1e-9, 1 - 1e-9)
    deviance = seen * np.log(seen / miss) + (1 - seen) * np.log((1 - seen) / (1 - miss))
    return np.asarray(np.sign(seen - miss) * np.sqrt(2 * n * np.maximum(deviance, 0)))
