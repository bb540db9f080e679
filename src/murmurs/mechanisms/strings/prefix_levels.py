"""Which lengths people are asked for, how many people each, and how strings are hashed."""

from __future__ import annotations

import math

from murmurs.boundary.checks import whole
from murmurs.mechanisms.strings.prefixes import LONGEST, Prefixes
from murmurs.privacy import check_epsilon

MOST_FIRST = 80_000
"""The most prefixes that are tried at the first level, all combinations of letters."""

COHORTS, CELLS = 256, 2048
"""Cohorts per level on average, and cells: more cohorts where there are few buckets.

With so many, strings that share buckets with common ones by chance add little to the noise.
"""

LASTING, FIRST = 0.6, 3.4
"""Weights of the levels: what each has, and what the first has in addition.

The first level must tell true prefixes from all combinations of letters, and each further one from
the extensions of those found, so it needs fewer people. The additional weight falls off as
1 / number, from the first level on.
"""

WIDEST = 4096
"""The most buckets: more would only make counts larger."""


def first_length(letters: int, longest: int) -> int:
    """Return how many letters the first level looks at.

    >>> first_length(26, 20), first_length(38, 20), first_length(100, 20)
    (3, 3, 2)
    """
    return max(1, min(longest, int(math.log(MOST_FIRST) / math.log(letters + 1))))


def planned(epsilon: float, longest: int = 20, letters: int = 41, *, salt: int = 0) -> Prefixes:
    """Return the mechanism for strings of at most ``longest`` letters of an alphabet.

    ``letters`` is the size of the alphabet that strings are looked for in.

    >>> planned(4.0, longest=6, letters=26)
    Prefixes(epsilon=4.0, width=56, levels=((3, 432), (4, 248), (5, 187), (6, 157)), salt=0)
    """
    epsilon, letters = check_epsilon(epsilon), whole(letters, "letters", 1, 10**6)
    longest = whole(longest, "longest", 1, LONGEST)
    lengths = range(first_length(letters, longest), longest + 1)
    weights = [LASTING + FIRST / (number + 1) for number in range(len(lengths))]
    width = min(max(2, round(math.exp(min(epsilon, 20.0))) + 1), WIDEST)
    unit = max(COHORTS, CELLS // width) * len(weights) / sum(weights)
    cohorts = [max(1, round(unit * weight)) for weight in weights]
    return Prefixes(epsilon, width, tuple(zip(lengths, cohorts, strict=True)), salt)
