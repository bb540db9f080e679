"""How likely strings are found by n-grams, and which shares can be.

Every n-gram of the string must be significant at its position, no pair of them may get lost, and
the whole string must be significant among all candidates. This is for a string that shares no
n-gram with others, the hardest case.
"""

from __future__ import annotations

import math

import numpy as np

from murmurs.boundary.checks import real
from murmurs.hashing.ngrams import positions
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile, normal_tail
from murmurs.questions.dictionary.ngrams.pairs import MISSED, error_of_absent_gram

GRAMS, TESTED = 1700, 20_000
"""N-grams that are tried at each position, and candidates that are tested, if all are reached."""

RATE, NEARLY_ALWAYS = 0.05, 0.9
"""The error rate of each test of n-grams, and the chance of a string at their floor."""


def usual_length(mechanism: NGrams) -> int:
    """Return the length of strings that the floor is for: all, as it depends on none."""
    return mechanism.longest


def floor_of(mechanism: NGrams, people: float, length: int | None = None) -> float:
    """Return the share above which strings up to a length are nearly always found."""
    return min(1.0, _floor_for_one(mechanism, length) / math.sqrt(max(people, 1e-9)))


def people_needed(mechanism: NGrams, share: float, length: int | None = None) -> int:
    """Return how many people must answer for a string of this share to be found nearly always."""
    share = real(share, "share", 1e-9, 1.0)
    return math.ceil(round((_floor_for_one(mechanism, length) / share) ** 2, 3))


def chances_of(
    mechanism: NGrams, people: float, shares: Floats, length: int | None = None
) -> Floats:
    """Return the probabilities that noise hides neither an n-gram, nor a pair, nor the string."""
    letters = mechanism.longest if length is None else min(length, mechanism.longest)
    at_position = max(people, 1e-9) * mechanism.together / mechanism.positions
    limits = [normal_quantile(1 - RATE / many) for many in (GRAMS, TESTED)]
    grams = normal_tail(limits[0] - shares / error_of_absent_gram(mechanism.gram, at_position))
    whole = normal_tail(limits[1] - shares / error_of_absent_gram(mechanism.whole, people))
    return np.asarray((1 - MISSED) * grams ** positions(letters, mechanism.size) * whole)


def _floor_for_one(mechanism: NGrams, length: int | None) -> float:
    """Return the floor for one person, where shares may exceed one; it is found by bisection.

    All standard errors fall with the root of the number of people, and so does the floor.
    """
    low, high = 0.0, 1.0
    while chances_of(mechanism, 1.0, np.array(high), length) < NEARLY_ALWAYS:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        is_found = chances_of(mechanism, 1.0, np.array(middle), length) >= NEARLY_ALWAYS
        low, high = (low, middle) if is_found else (middle, high)
    return high
