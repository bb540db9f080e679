"""What the counts of one level say about each of many pieces of strings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.hashing import strings
from murmurs.hashing.layout import Keyed, Layout
from murmurs.inference.fitting import fitted
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.numerics.arrays import Floats

STRONG, MOST_STRONG = 6.0, 300
"""Standard errors above which a piece is solved for, and the most that are."""

SETTLED = 3
"""How often the strong pieces are chosen again, given what the others leave."""

FAR = 4.0
"""Standard errors by which a bucket must exceed what is expected to count as an unlisted string's.
"""

ENOUGH_FOR_SPREAD = 1000
"""Pieces from which the spread of the scores is estimated: nearly all of them are absent."""


def error_of_absent(mechanism: ORR, n: float) -> float:
    """Return the standard error of the share of a string that nobody holds, for n reports.

    It is that of an average over hash functions, if no other string is known.
    """
    chance = 1 / mechanism.width
    gain = float(mechanism.truth_probability)
    return math.sqrt(chance / ((1 - chance) * max(n, 1e-9))) / gain


@dataclass(frozen=True, eq=False)
class Weighed:
    """The score of each piece, and the pieces that are solved for because so many hold them.

    A score is the signed root of the deviance of an absent piece: a standard normal number if the
    piece is absent, also where few reports make the share itself skewed.
    """

    scores: Floats
    strong: tuple[str, ...]


def weigh(
    counts: Counts,
    keys: NDArray[np.uint64],
    piece: Callable[[int], str],
    expected_strong: Sequence[str] = (),
) -> Weighed:
    """Weigh each piece beside the strong ones, which are solved for together.

    ``keys`` are those of the pieces, ``piece(i)`` is piece number i. Pieces that are known to be
    strong are solved for from the beginning. Buckets count by the inverse of their variance: one
    that holds a strong piece varies more, by its noise and by how many people of the cohort hold
    it. The score of a strong piece is for its absence, so its own share counts for nothing there.
    """
    mechanism = cast(ORR, counts.mechanism)
    layout = Keyed(keys, mechanism.cohorts, mechanism.width, mechanism.salt)
    channel = mechanism.channel.conditioned_on(counts.cells)
    masses, gain, parts = channel.masses_of(counts.cells), channel.difference, channel.row_parts
    n, solved = max(counts.n, 1), dict.fromkeys(expected_strong, 0.0)
    counted = gain * (1 - 1 / mechanism.width)
    for last in (*[False] * SETTLED, True):
        expected = np.full_like(masses, 1 / mechanism.width)
        if solved:
            few = counts.over(list(solved))
            found = fitted(few).unbiased
            expected = cast(Tables, few.channel).masses(found)
            solved = dict(zip(solved, found[:-1].tolist(), strict=True))
        law = float(channel.miss) + gain * np.clip(expected, 0, 1)
        observed = _unexpected(float(channel.miss) + gain * masses, law, counts.n * parts)
        weights = parts * gain**2 / observed
        shares, information = _added(layout, weights, masses - expected)
        spread = _spread(weights, masses - expected, n)
        errors = spread / np.sqrt(n * information)
        large = np.flatnonzero(shares > STRONG * errors)  # scores are never larger
        sure = _scores(shares[large], counts.n, information[large], counted) > STRONG * spread
        strong = large[sure]
        own = [piece(i) for i in strong[np.argsort(-shares[strong], kind="stable")].tolist()]
        more = [text for text in own if text not in solved][: max(MOST_STRONG - len(solved), 0)]
        if last or not more:
            break
        solved |= dict.fromkeys(more, 0.0)
    if solved:
        own_keys = strings.keys(solved)[0]
        order = np.argsort(own_keys)
        at = order[np.minimum(np.searchsorted(own_keys, keys[0], sorter=order), len(order) - 1)]
        listed = np.flatnonzero(own_keys[at] == keys[0])
        held = np.array(list(solved.values()))[at[listed]]
        shares[listed] += held
        without = observed.ravel()[layout.select(listed).all_places()] - gain * held
        on = parts * gain**2 / np.maximum(without, float(channel.miss))
        information[listed] = _information(on.sum(axis=0), weights)
    scores = _scores(shares, counts.n, information, counted) / spread
    if spread > 1:
        chance = float(_chance(np.array(_average(weights)), counted))
        usual = (1 - 2 * chance) / math.sqrt(n * chance * (1 - chance))
        scores = _skewed(scores, weights, masses - expected, usual / spread**3)
    if len(scores) > ENOUGH_FOR_SPREAD:
        scores /= max(1.0, float(1.4826 * np.median(np.abs(scores - np.median(scores)))))
    return Weighed(scores, tuple(solved))


def _unexpected(seen: Floats, law: Floats, n: Floats) -> Floats:
    """Return the parts of a cohort's reports that buckets hold: where far more than expected, seen.

    Such a bucket holds a common string that is not among the pieces, such as one with letters that
    are not in the alphabet. It says nothing about the few pieces that share it.
    """
    above = np.maximum(seen, law)
    deviance = n * (above * np.log(above / law) - (above - law))
    return np.where(2 * deviance > FAR**2, above, law)


def _spread(weights: Floats, left: Floats, n: int) -> float:
    """Return the standard deviation of the scores of absent pieces, at least 1.

    The bucket of an absent piece is any one of the cohort's, whatever the reports are. So how much
    more the buckets of a cohort differ than by noise is known exactly.
    """
    varied = float(np.var(weights * left, axis=1).sum())
    return max(1.0, math.sqrt(n * varied / _average(weights)))


def _average(weights: Floats) -> float:
    """Return the information of an absent piece, on average over hash functions; see `_added`."""
    return float(weights.mean(axis=1).sum() * (1 - 1 / weights.shape[1]))


def _skewed(scores: Floats, weights: Floats, left: Floats, usual: float) -> Floats:
    """Return scores that are normal although the buckets of absent pieces are skewed.

    ``usual`` is the skewness of binomial numbers, which the scores allow for already.

    The few pieces that by chance share many buckets with a common unlisted string have large
    scores. The skewness over all hash functions is known, as the spread is. Positive scores are
    taken as those of a gamma variable with this skewness, and replaced by the signed root of its
    deviance.
    """
    values = weights * left
    away = values - values.mean(axis=1, keepdims=True)
    second = float(np.mean(away**2, axis=1).sum())
    skewness = float(np.mean(away**3, axis=1).sum()) / max(second, 1e-300) ** 1.5 - usual
    if skewness <= 1e-6:
        return scores
    shape, above = 4 / skewness**2, np.maximum(scores, 0) * skewness / 2
    deviance = 2 * shape * (above - np.log1p(above))
    return np.where(scores > 0, np.sqrt(np.maximum(deviance, 0)), scores)


def _added(layout: Layout, weights: Floats, left: Floats) -> tuple[Floats, Floats]:
    """Return the share of each piece if it is added to those solved for, and its information.

    A piece takes its share from all other strings, which are spread evenly over the buckets.
    """
    filled = 1 / layout.width
    weighted = weights * left
    own, on = layout.all_totals(weighted, weights)
    information = _information(on, weights)
    return (own - filled * float(weighted.sum())) / information, information


def _information(on: Floats, weights: Floats) -> Floats:
    """Return the information of pieces, from the sums of the weights of their buckets."""
    filled = 1 / weights.shape[1]
    return np.asarray(on * (1 - 2 * filled) + filled**2 * float(weights.sum()))


def _scores(shares: Floats, n: int, information: Floats, gain: float) -> Floats:
    """Return signed roots of the binomial deviance between the share and none at all.

    ``gain`` is by how much more often a report counts for the piece if it is held than if it is
    absent. How often it counts then follows from the noise. Numbers of reports are whole, so half a
    report is taken off the distance: otherwise single reports would say too much where few are
    expected.
    """
    n, chance = max(n, 1), _chance(information, gain)
    away = np.maximum(np.abs(gain * shares) - 0.5 / n, 0) * np.sign(shares)
    seen = np.clip(chance + away, 1e-12, 1 - 1e-12)
    deviance = seen * np.log(seen / chance) + (1 - seen) * np.log((1 - seen) / (1 - chance))
    return np.asarray(np.sign(away) * np.sqrt(2 * n * np.maximum(deviance, 0)))


def _chance(information: Floats, gain: float) -> Floats:
    """Return how often a report counts for an absent piece: see `_scores`."""
    chance = (1 - np.sqrt(np.maximum(1 - 4 * gain**2 / information, 0))) / 2
    return np.asarray(np.clip(chance, 1e-12, 0.5))
