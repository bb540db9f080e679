"""Which lengths people are asked for, how many people each, and how strings are hashed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from murmurs.boundary.checks import shown, whole
from murmurs.mechanisms.settling import MOST_CELLS
from murmurs.mechanisms.strings.prefixes import LONGEST, Prefixes
from murmurs.privacy import check_epsilon

Like = Literal["words", "identifiers"]
"""What strings are like: of many lengths, as words and paths, or all about as long as can be."""

MOST_FIRST = 80_000
"""The most prefixes that are tried at the first level, all combinations of letters."""

COHORTS, CELLS = 256, 2048
"""Cohorts per level on average, and cells: more cohorts where there are few buckets.

With so many, strings that share buckets with common ones by chance add little to the noise. There
are fewer where counts would be too large: many buckets and many lengths.
"""

WIDEST = 4096
"""The most buckets: more would only make counts larger."""


@dataclass(frozen=True)
class Parts:
    """How people are divided: parts of them for the first and the last length, the rest between.

    The first level must tell true prefixes from all combinations of letters. The last one sees
    every string whole, and decides between strings that differ in a late letter. Between them,
    level number i has people in proportion to 1 + ``slope`` / i. With few levels, the first and
    the last have no less than an equal part.
    """

    first: float
    last: float
    slope: float

    def weights(self, levels: int) -> list[float]:
        """Return the part of the people at each level."""
        if levels < 3:
            return [1 / levels] * levels
        first, last = max(self.first, 1 / levels), max(self.last, 1 / levels)
        between = [1 + self.slope / number for number in range(2, levels)]
        return [first, *((1 - first - last) * own / sum(between) for own in between), last]


PARTS: dict[str, Parts] = {"words": Parts(0.15, 0.2, 2.0), "identifiers": Parts(0.15, 0.3, 1.0)}
"""The parts that found most strings in simulated surveys."""


def first_length(letters: int, longest: int) -> int:
    """Return how many letters the first level looks at.

    >>> first_length(26, 20), first_length(38, 20), first_length(100, 20)
    (3, 3, 2)
    """
    return max(1, min(longest, int(math.log(MOST_FIRST) / math.log(letters + 1))))


def planned(
    epsilon: float, longest: int = 20, letters: int = 41, *, like: Like = "words", salt: int = 0
) -> Prefixes:
    """Return the mechanism for strings of at most ``longest`` letters of an alphabet.

    ``letters`` is the size of the alphabet that strings are looked for in, ``like`` what they are
    like: with "identifiers", more people are asked for the whole string.

    >>> planned(4.0, longest=6, letters=26)
    Prefixes(epsilon=4.0, width=56, levels=((3, 256), (4, 279), (5, 233), (6, 256)), salt=0)
    """
    epsilon, letters = check_epsilon(epsilon), whole(letters, "letters", 1, 10**6)
    longest = whole(longest, "longest", 1, LONGEST)
    if like not in get_args(Like):
        raise ValueError(f"like must be 'words' or 'identifiers', not {shown(like)}")
    lengths = range(first_length(letters, longest), longest + 1)
    weights = PARTS[like].weights(len(lengths))
    width = min(max(2, round(math.exp(min(epsilon, 20.0))) + 1), WIDEST)
    unit = min(max(COHORTS, CELLS // width) * len(weights), MOST_CELLS // width - len(weights))
    cohorts = [max(1, round(unit * weight)) for weight in weights]
    return Prefixes(epsilon, width, tuple(zip(lengths, cohorts, strict=True)), salt)
