"""Confidence limits from the exact law of a count of support.

The number of reports that support an answer is binomial if people are sampled from a population,
and a sum of two binomial numbers given the respondents. A share is between its limits unless the
count is too small or too large for it:

    P(smaller) + w P(this count) >= low part of alpha,
    P(larger)  + w P(this count) >= the rest of alpha.

What is left out at a share has a probability of at most alpha / w, so the limits cover it with at
least 1 - alpha / w, exactly and always: 93 % for w = 5/7 at the level 95 %. With w = 1 they would
be those of Clopper and Pearson (1934), which cover more than they say; with 1/2 the bound would
be 90 %. Alpha is divided as Feldman and Cousins (1998) do for a normal mean at the same distance
from 0 and from 1, so that limits are one-sided there and never empty.

Counts with a large standard deviation, 10 at the level 95 %, are nearly normal: the limits of
`murmurs.inference.intervals` hold there, and cost less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs.inference.intervals import Scale, accepted
from murmurs.numerics import binomial, normal
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import normal_quantile

Flags = NDArray[np.bool_]

WEIGHT = 5 / 7
"""How much of the probability of the count itself is added to each tail."""

NORMAL = 1.25
"""From this multiple of `exact_until` on, limits are those of the normal law; in between they move
from one to the other."""

DECIDED = 30.0
"""Counts that are more than 20 deviations away from their mean, and deviate more than this, are on
one side of it without doubt."""

ALWAYS_EXACT = 8.0
"""The standard deviation of a count up to which limits are exact at every level."""

_FAR, _EXACT, _STEPS = 40.0, 1e-10, 150
"""Logarithms that count as infinite and as zero, and the most steps to a limit."""

_APART = 8.0
"""The length of a scale from which on its two ends do not matter at the same share."""

_NO_NOISE = 1e-24
"""The variance of a share that is known exactly, so that nothing is divided by zero."""


@dataclass(frozen=True)
class Support:
    """Which counts support answers: their law if the answer has a share.

    A report of the answer supports it with probability ``hit``, any other with ``miss``; ``hit`` is
    the larger. ``sampled`` says whether the people are a sample from a population.
    """

    n: int
    hit: Fraction
    miss: Fraction
    sampled: bool

    @cached_property
    def chances(self) -> tuple[float, float, float, float]:
        """The probabilities hit, 1 - hit, miss, 1 - miss, none of them rounded to zero."""
        return float(self.hit), float(1 - self.hit), float(self.miss), float(1 - self.miss)

    @cached_property
    def scale(self) -> Scale:
        """The scale on which the unbiased share has noise one."""
        hit, not_hit, miss, not_miss = self.chances
        square = self.n * (hit - miss) ** 2
        constant = max(miss * not_miss / square, _NO_NOISE)
        slope = (hit * not_hit - miss * not_miss) / square
        bend = 1 / self.n if self.sampled else 0.0
        return Scale(np.array(constant), np.array(slope + bend), bend)

    def deviation(self, shares: Floats) -> Floats:
        """Return the standard deviation of the count at these shares."""
        scale = self.scale
        variance = scale.constant + scale.slope * shares - scale.bend * shares**2
        return np.asarray(np.sqrt(np.maximum(variance, 0)) * self.n * float(self.hit - self.miss))

    def low_part(self, shares: Floats, level: float) -> Floats:
        """Return the part of alpha that small counts have."""
        return low_part(self.scale.of(shares), self.scale.of(np.array(1.0)), level)

    def tails(self, counts: Floats, people: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities of fewer, of exactly as many and of more supporting reports.

        ``people`` of the n hold the answer, on average if they are sampled.
        """
        hit, not_hit, miss, not_miss = self.chances
        if not self.sampled:
            return _tails_of_two(counts, people, self.n - people, self.chances)
        share, rest = people / self.n, (self.n - people) / self.n
        chance, other = miss * rest + hit * share, not_hit * share + not_miss * rest
        return binomial.tails(counts, np.array(float(self.n)), chance, other)


def exact_until(level: float) -> float:
    """Return the standard deviation of a count up to which its law is not near enough to normal.

    The tail at z deviations of a count with skewness 1 / deviation is that of the normal law times
    about exp((z^3 - 3 z) / (6 deviation)), from here on at most 1.4 = 1 / `WEIGHT`. For 95 % it is
    8, for 99.9 % 13 and for 99.9999 % 51: far out, only large counts are normal.
    """
    z = normal_quantile(0.5 + level / 2)
    return max(ALWAYS_EXACT, (z**3 - 3 * z) / 2)


def exact_part(deviations: Floats, level: float) -> Floats:
    """Return how much of a limit is exact, from 0 to 1, by the deviation of the count there."""
    most = exact_until(level)
    return np.clip((NORMAL * most - deviations) / ((NORMAL - 1) * most), 0.0, 1.0)


def blended(usual: Floats, found: Floats, deviations: Floats, level: float) -> Floats:
    """Return limits that move from the exact ones to the usual ones, one row for each count.

    Where only high levels are exact, limits contain the usual ones too: else those of a lower
    level, which are the usual ones, might reach further.
    """
    part = exact_part(deviations, level)
    out = np.where(part < 1, usual + part * (found - usual), found)
    if exact_until(level) > ALWAYS_EXACT:
        wider = np.stack([np.minimum(out, usual)[:, 0], np.maximum(out, usual)[:, 1]], axis=1)
        out = np.where(deviations > ALWAYS_EXACT, wider, out)
    return np.stack([out[:, 0], np.maximum(out[:, 0], out[:, 1])], axis=1)


def tail_limits(counts: Integers, law: Support, level: float, usual: Floats) -> Floats:
    """Return limits of shares, one row per count.

    ``usual`` are those of the normal law. The ones are replaced at which the count varies little.
    """
    exact = exact_part(law.deviation(usual), level)
    small = exact > 0
    rows = np.flatnonzero(small.any(axis=1))
    if not len(rows):
        return usual
    # Equal counts have equal limits.
    values, first, places = np.unique(counts[rows], return_index=True, return_inverse=True)
    both = usual[rows[first]]
    row, side = np.nonzero(small[rows[first]])
    near = both[row, side]
    found = _limits(values[row].astype(np.float64), side == 1, law, level, near)
    both[row, side] = found
    both = blended(usual[rows[first]], both, law.deviation(usual[rows[first]]), level)
    out = usual.copy()
    out[rows] = both[places]
    return out


def _limits(counts: Floats, is_upper: Flags, law: Support, level: float, guesses: Floats) -> Floats:
    """Return one limit for each count."""

    def excess(people: Floats, rows: Integers) -> Floats:
        low = law.low_part(people / law.n, level)
        return above_its_part(law.tails(counts[rows], people), low, is_upper[rows], level)

    reach = law.deviation(guesses) / float(law.hit - law.miss)
    return search(excess, is_upper, law.n, guesses, reach, whole=not law.sampled)


def above_its_part(
    tails: tuple[Floats, Floats, Floats], low: Floats, is_upper: Flags, level: float
) -> Floats:
    """Return by how much the tail of a limit is above its part of alpha, as a logarithm.

    ``tails`` are the probabilities of smaller, of equal and of larger counts.
    """
    below, at, above = tails
    tail = np.where(is_upper, below, above) + WEIGHT * at
    part = (1 - level) * np.where(is_upper, low, 1 - low)
    ratio = np.maximum(tail, 1e-300) / np.maximum(part, 1e-300)
    return np.asarray(np.clip(np.log(ratio), -_FAR, _FAR))


def search(
    excess: Callable[[Floats, Integers], Floats],
    is_upper: Flags,
    most: int,
    guesses: Floats,
    reach: Floats,
    *,
    whole: bool,
) -> Floats:
    """Return the shares, one for each row, between which and the far end ``excess`` is negative.

    ``excess`` takes numbers of people out of ``most``, which are ``whole`` or not, and their rows.
    Lower limits are nearer to zero, upper ones to one. ``reach`` is how far guesses may be off.
    """
    n, sign = float(most), np.where(is_upper, 1.0, -1.0)
    inside, outside = np.where(is_upper, 0.0, n), np.where(is_upper, n, 0.0)
    within, beyond = np.full(len(sign), _FAR), excess(outside, np.arange(len(sign)))
    inside = np.where(beyond >= 0, outside, inside)
    held = np.zeros(len(sign), np.int64)  # how often the same end has moved, one after another
    for step in range(_STEPS):
        least = 1.0 if whole else 1e-9 * np.minimum(inside + 1, n)
        rows = np.flatnonzero(np.abs(outside - inside) > least)
        if not len(rows):
            break
        a, b, side = inside[rows], outside[rows], sign[rows]
        if step < 2:
            people = n * guesses[rows] + (4 - 8 * step) * side * (reach[rows] + 1)
        elif step % 4 == 3:
            people = (a + b) / 2
        else:  # regula falsi, with the value of an end that stays halved
            people = a + (b - a) * within[rows] / (within[rows] - beyond[rows])
        if whole:
            people = side * np.clip(np.rint(side * people), side * a + 1, side * b - 1)
        else:
            people = np.where((people - a) * (b - people) > 0, people, (a + b) / 2)
        found = excess(people, rows)
        holds, exact = found >= 0, (np.abs(found) < _EXACT) & (not whole)
        held[rows] = np.where(holds, np.maximum(held[rows], 0) + 1, np.minimum(held[rows], 0) - 1)
        slower = np.where(np.abs(held[rows]) > 1, 0.5, 1.0)
        within[rows] = np.where(holds, found, slower * within[rows])
        beyond[rows] = np.where(holds, slower * beyond[rows], found)
        inside[rows] = np.where(holds | exact, people, a)
        outside[rows] = np.where(holds & ~exact, b, people)
    return inside / n


def _tails_of_two(
    counts: Floats, own: Floats, others: Floats, chances: tuple[float, float, float, float]
) -> tuple[Floats, Floats, Floats]:
    """Return the tails of the sum of two binomial numbers, of those who hold and do not hold."""
    hit, not_hit, miss, not_miss = chances
    mean = own * hit + others * miss
    deviation = np.sqrt(own * hit * not_hit + others * miss * not_miss)
    far = (deviation > DECIDED) & (np.abs(counts - mean) > 20 * deviation)
    below, at, above = (
        np.where(far & side, 1.0, 0.0) for side in (counts > mean, mean < 0, counts <= mean)
    )
    near = np.flatnonzero(~far)
    if len(near):
        parts = _near(counts[near], own[near], others[near], chances)
        below[near], at[near], above[near] = parts
    return below, at, above


def _near(
    counts: Floats, own: Floats, others: Floats, chances: tuple[float, float, float, float]
) -> tuple[Floats, Floats, Floats]:
    """Return the same by summing over all likely numbers of those who hold the answer."""
    start, first = _window(own, *chances[:2])
    begin, second = _window(others, *chances[2:])
    width = second.shape[1]
    place = (counts - start - begin)[:, None] - np.arange(first.shape[1])
    at_place: Integers = np.clip(place, -1, width).astype(np.int64)
    none = np.zeros((len(counts), 1))
    smaller = np.concatenate([none, np.cumsum(second, axis=1)], axis=1)
    larger = np.concatenate([np.cumsum(second[:, ::-1], axis=1)[:, ::-1], none], axis=1)
    padded = np.concatenate([none, second, none], axis=1)
    below = (first * np.take_along_axis(smaller, np.maximum(at_place, 0), axis=1)).sum(axis=1)
    at = (first * np.take_along_axis(padded, at_place + 1, axis=1)).sum(axis=1)
    above = (first * np.take_along_axis(larger, np.minimum(at_place + 1, width), axis=1)).sum(
        axis=1
    )
    return below, at, above


def _window(n: Floats, chance: float, rest: float) -> tuple[Floats, Floats]:
    """Return the first of the likely binomial numbers, and the probabilities from there on."""
    turned = chance > rest
    p, q = (rest, chance) if turned else (chance, rest)
    mean, deviation = n * p, np.sqrt(n * p * q)
    reach = np.ceil(9 * float(deviation.max()) + 25)
    start = np.maximum(np.floor(mean - reach), 0)
    steps = np.arange(int(2 * reach))
    at = start[:, None] + steps
    ratios = np.maximum(n[:, None] - at, 0) / (at + 1) * (p / q)
    first = binomial.masses(start, n, np.array(p), np.array(q))[:, None]
    law = np.concatenate([first, first * np.cumprod(ratios, axis=1)], axis=1)
    return (n - start - len(steps), law[:, ::-1]) if turned else (start, law)


def low_part(mu: Floats, end: Floats, level: float) -> Floats:
    """Return the part of alpha that small counts have, for a share at mu of 0..end on its scale.

    It rises from 0 to 1. Each end of the scale matters near it; if noise is so large that both are
    near, they are looked at together.
    """
    end = np.broadcast_to(end, mu.shape)
    apart = _near_zero(mu, level) + 0.5 - _near_zero(end - mu, level)
    if (end >= _APART).all():
        return np.asarray(apart)
    ends, places, parts = _between(level)
    row = np.clip(np.interp(end, ends, np.arange(len(ends))), 0, len(ends) - 1.001)
    column = np.clip(mu / end, 0, 1) * (len(places) - 1)
    column = np.minimum(column, len(places) - 1.001)
    i, j = row.astype(np.int64), column.astype(np.int64)
    down, right = row - i, column - j
    first = parts[i, j] * (1 - right) + parts[i, j + 1] * right
    second = parts[i + 1, j] * (1 - right) + parts[i + 1, j + 1] * right
    together = first * (1 - down) + second * down
    return np.asarray(np.where(end >= _APART, apart, together))


def _near_zero(mu: Floats, level: float) -> Floats:
    """Return the part of alpha below the values that a mean of mu accepts, at most 1/2."""
    means, parts = _parts(level)
    return np.interp(mu, means, parts)


@cache
def _parts(level: float) -> tuple[Floats, Floats]:
    means, low_edge, _ = accepted(level)
    parts = np.minimum(normal.below(low_edge - means) / (1 - level), 0.5)
    parts[0] = 0.0
    return means, np.maximum.accumulate(parts)


@cache
def _between(level: float) -> tuple[Floats, Floats, Floats]:
    """Return ends, places between 0 and the end, and for each pair the part of alpha below.

    The values that a mean accepts are those with the highest likelihood ratio to the best mean
    between 0 and the end, as in `accepted`, which has no end.
    """
    ends, places = np.geomspace(0.02, _APART, 20), np.linspace(0, 1, 161)
    mu = ends[:, None] * np.clip(places, 1e-9, 1 - 1e-9)
    left = ends[:, None] - mu
    inside, outside = np.zeros_like(mu), np.full_like(mu, 10.0)
    for _ in range(45):
        ratio = (inside + outside) / 2
        low, high = _edge(ratio, mu), _edge(ratio, left)
        enough = normal.below(-low) + normal.below(-high) <= 1 - level
        inside, outside = np.where(enough, inside, ratio), np.where(enough, ratio, outside)
    parts = normal.below(-_edge(outside, mu)) / (1 - level)
    parts[:, 0], parts[:, -1] = 0.0, 1.0
    return ends, places, np.maximum.accumulate(np.clip(parts, 0, 1), axis=1)


def _edge(ratio: Floats, distance: Floats) -> Floats:
    """Return how far values are accepted on the side on which the scale ends at a distance."""
    return np.asarray(np.where(ratio < distance, ratio, distance / 2 + ratio**2 / (2 * distance)))
