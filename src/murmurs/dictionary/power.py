"""How likely a string of a given share is found, and how many people that takes.

Both follow from the mechanism and the number of people alone, so they are known before anybody is
asked. All standard errors fall with the root of the number of people, and so do the shares that can
be found.
"""

from __future__ import annotations

import math

import numpy as np

from murmurs.boundary.checks import real
from murmurs.dictionary.evidence import error_of_absent
from murmurs.dictionary.pairs import MISSED, error_of_absent_gram
from murmurs.mechanisms.ngrams import NGrams
from murmurs.mechanisms.prefixes import Prefixes
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile, normal_tail

Asked = Prefixes | NGrams

FLOOR = 3.5
"""Shares above so many standard errors of an average level are found in at least 95 of 100 cases.

Chosen on the domain names, baby names, words and host names of `benchmarks.dictionary`.
"""

FLOOR_OF_ALL = 7.5
"""The same in standard errors of all levels together; it matters if there are fewer than five.

The first level alone tries 80,000 beginnings. To pay for them takes 5.8 standard errors, and 1.7
more for a chance of 95 %.
"""

HALF, STEEP = 0.66, 7.0
"""Prefixes: half of the strings at this part of the floor are found, and how fast that changes.

The chance is the normal probability of ``STEEP * (share / floor - HALF)``. Both numbers come from
domain names, baby names and words, among 20,000 and a million people, with epsilon 1 and 4.39.
"""

GRAMS, TESTED = 1700, 20_000
"""N-grams that are tried at each position, and candidates that are tested, if all are reached."""

RATE, NEARLY_ALWAYS = 0.05, 0.9
"""N-grams: the error rate of each test, and the chance of a string at the floor."""


def floor_of(mechanism: Asked, people: float) -> float:
    """Return the share above which a string is nearly always found among so many people."""
    if isinstance(mechanism, NGrams):
        return _floor_of_ngrams(mechanism) / math.sqrt(max(people, 1e-9))
    levels, level = len(mechanism.levels), mechanism.level(0)
    each = FLOOR * error_of_absent(level, people / levels)
    return max(each, FLOOR_OF_ALL * error_of_absent(level, people))


def people_needed(mechanism: Asked, share: float) -> int:
    """Return how many people must answer for a string of this share to be found nearly always.

    >>> from murmurs.mechanisms.prefix_levels import planned
    >>> people_needed(planned(4.0, longest=20, letters=38), 0.01)
    167631
    """
    share = real(share, "share", 1e-9, 1.0)
    return math.ceil((floor_of(mechanism, 1.0) / share) ** 2)


def chance_of(mechanism: Asked, people: float, shares: Floats) -> Floats:
    """Return how likely strings of these shares are found among so many people.

    For n-grams, every n-gram of the string must be significant at its position, and the whole
    string among all candidates. This is for a string that shares no n-gram with others, the hardest
    case. For prefixes, it is a curve through what was found in simulations.

    >>> from murmurs.mechanisms.prefix_levels import planned
    >>> asked = planned(4.0, longest=20, letters=38)
    >>> chance_of(asked, 10**6, floor_of(asked, 10**6) * np.array([0.5, 1.0])).round(2)
    array([0.13, 0.99])
    """
    shares = np.asarray(shares, np.float64)
    if isinstance(mechanism, NGrams):
        return _chance_of_ngrams(mechanism, people, shares)
    away = STEEP * (shares / floor_of(mechanism, people) - HALF)
    return normal_tail(-away)


def _chance_of_ngrams(mechanism: NGrams, people: float, shares: Floats) -> Floats:
    """Return the probability that noise hides neither an n-gram, nor a pair, nor the string."""
    at_position = max(people, 1e-9) * mechanism.together / mechanism.positions
    limits = [normal_quantile(1 - RATE / many) for many in (GRAMS, TESTED)]
    grams = shares / error_of_absent_gram(mechanism.gram, at_position)
    whole = shares / error_of_absent_gram(mechanism.whole, people)
    chance = normal_tail(limits[0] - grams) ** mechanism.positions * normal_tail(limits[1] - whole)
    return np.asarray((1 - MISSED) * chance)


def _floor_of_ngrams(mechanism: NGrams) -> float:
    """Return the floor for one person, where shares may exceed one; it is found by bisection."""
    low, high = 0.0, 1.0
    while float(_chance_of_ngrams(mechanism, 1.0, np.array(high))) < NEARLY_ALWAYS:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if float(_chance_of_ngrams(mechanism, 1.0, np.array(middle))) < NEARLY_ALWAYS:
            low = middle
        else:
            high = middle
    return high
