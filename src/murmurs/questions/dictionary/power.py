"""How likely strings are found, and which shares can be, whichever way people are asked.

Both follow from the mechanism and the number of people alone, so they are known before anybody is
asked. Prefixes have their own file, `chance`. For n-grams, every n-gram of the
string must be significant at its position, no pair of them may get lost, and the whole string must
be significant among all candidates. This is for a string that shares no n-gram with others, the
hardest case.
"""

from __future__ import annotations

import math

import numpy as np

from murmurs.boundary.checks import real
from murmurs.hashing.ngrams import positions
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile, normal_tail
from murmurs.questions.dictionary import chance
from murmurs.questions.dictionary.pairs import MISSED, error_of_absent_gram

Searched = Prefixes | NGrams
"""Mechanisms whose counts are searched for strings that nobody listed."""

GRAMS, TESTED = 1700, 20_000
"""N-grams that are tried at each position, and candidates that are tested, if all are reached."""

RATE, NEARLY_ALWAYS = 0.05, 0.9
"""The error rate of each test of n-grams, and the chance of a string at their floor."""


def usual_length(mechanism: Searched) -> int:
    """Return the length of strings that the floor is for: all lengths where it depends on none."""
    if isinstance(mechanism, NGrams):
        return mechanism.longest
    return chance.usual_length(mechanism)


def floor_of(mechanism: Searched, people: float, length: int | None = None) -> float:
    """Return the share above which strings up to a length are nearly always found."""
    if isinstance(mechanism, NGrams):
        return min(1.0, _floor_for_one(mechanism, length) / math.sqrt(max(people, 1e-9)))
    return chance.floor_of(mechanism, people, length)


def people_needed(mechanism: Searched, share: float, length: int | None = None) -> int:
    """Return how many people must answer for a string of this share to be found nearly always."""
    if isinstance(mechanism, NGrams):
        share = real(share, "share", 1e-9, 1.0)
        return math.ceil(round((_floor_for_one(mechanism, length) / share) ** 2, 3))
    return chance.people_needed(mechanism, share, length)


def chances_of(
    mechanism: Searched, people: float, shares: Floats, length: int | None = None
) -> Floats:
    """Return how likely strings of these shares and of a length are found among so many people.

    >>> from murmurs.mechanisms.strings.dictionary import planned_dictionary
    >>> asked = planned_dictionary(9.0, longest=6, method="ngrams")
    >>> chances_of(asked, 10**5, floor_of(asked, 10**5) * np.array([0.5, 1.0])).round(2)
    array([0. , 0.9])
    """
    if isinstance(mechanism, NGrams):
        return _chances_by_ngrams(mechanism, people, shares, length)
    letters = usual_length(mechanism) if length is None else length
    each = [chance.chance_of(mechanism, people, share, letters) for share in shares.ravel()]
    return np.array(each).reshape(shares.shape)


def _chances_by_ngrams(
    mechanism: NGrams, people: float, shares: Floats, length: int | None
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
    while _chances_by_ngrams(mechanism, 1.0, np.array(high), length) < NEARLY_ALWAYS:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        is_found = _chances_by_ngrams(mechanism, 1.0, np.array(middle), length) >= NEARLY_ALWAYS
        low, high = (low, middle) if is_found else (middle, high)
    return high
