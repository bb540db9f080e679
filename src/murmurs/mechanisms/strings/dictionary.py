"""Which mechanism asks for strings that nobody listed: of prefixes, or of n-grams."""

from __future__ import annotations

import math
from typing import Literal, get_args

from murmurs.boundary.checks import shown, whole
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.mechanisms.strings.ngrams import LONGEST, NGrams, chosen
from murmurs.mechanisms.strings.prefix_levels import MOST_FIRST, Like, planned
from murmurs.mechanisms.strings.prefixes import Prefixes

DictionaryMethod = Literal["prefix", "ngrams"]

MOST_CELLS = 2**22
"""The most cells in the counts of n-grams, so that files of counts stay below some 20 MB."""


def planned_dictionary(
    epsilon: float,
    longest: int = 20,
    letters: int = 41,
    *,
    method: DictionaryMethod = "prefix",
    like: Like = "words",
    salt: int = 0,
) -> Prefixes | NGrams:
    """Return the mechanism for strings of at most ``longest`` letters of an alphabet.

    ``letters`` is the size of the alphabet that strings are looked for in. ``like`` says what
    strings are like: "words" have many lengths, as paths and names do; "identifiers" are all about
    as long as ``longest``. It decides how many people are asked for which prefixes.

    >>> planned_dictionary(3.0, longest=6).lengths
    (3, 4, 5, 6)
    >>> planned_dictionary(3.0, longest=6, method="ngrams").positions
    3
    """
    if method not in get_args(DictionaryMethod):
        raise ValueError(f"method must be 'prefix' or 'ngrams', not {shown(method)}")
    if method == "prefix":
        return planned(epsilon, longest, letters, like=like, salt=salt)
    if like != "words":
        raise ValueError(
            f"like is for the method 'prefix', not for n-grams: leave out {shown(like)}"
        )
    return _ngrams(epsilon, longest, letters, salt)


def _ngrams(epsilon: float, longest: int, letters: int, salt: int) -> NGrams:
    """Return bigrams, or single letters of a large alphabet, with O-RR underneath."""
    letters = whole(letters, "letters", 1, 10**6)
    longest = whole(longest, "longest with method 'ngrams'", 2, LONGEST)
    size = 2 if longest > 2 and (letters + 1) ** 2 <= MOST_FIRST else 1
    pairs = math.comb(-(-longest // size), 2)

    def make(part: float) -> ORR:
        plain = chosen(part)
        cohorts = min(plain.cohorts, MOST_CELLS // (4 * pairs))
        widest = math.isqrt(MOST_CELLS // (pairs * cohorts))
        return ORR(part, min(plain.width, widest), cohorts, salt)

    return NGrams.splitting(epsilon, longest=longest, size=size, make=make)
