"""How likely strings are found, and which shares can be, whichever way people are asked.

Both follow from the mechanism and the number of people alone, so they are known before anybody is
asked. Each way has its own file: `chance` for prefixes, `ngrams.chance` for n-grams.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.mechanisms.strings.prefixes import LONGEST, Prefixes
from murmurs.numerics.arrays import Floats
from murmurs.questions.dictionary import chance
from murmurs.questions.dictionary.ngrams import chance as ngrams_chance

Searched = Prefixes | NGrams
"""Mechanisms whose counts are searched for strings that nobody listed."""


def _way(mechanism: Searched) -> Any:
    return ngrams_chance if isinstance(mechanism, NGrams) else chance


def usual_length(mechanism: Searched) -> int:
    """Return the length of strings that the floor is for: all lengths where it depends on none."""
    return int(_way(mechanism).usual_length(mechanism))


def floor_of(mechanism: Searched, people: float, length: int | None = None) -> float:
    """Return the share above which strings up to a length are nearly always found."""
    return float(_way(mechanism).floor_of(mechanism, people, _checked(length)))


def floor_with_corpus(mechanism: Searched, people: float, listed: int) -> float | None:
    """Return the floor of strings that are in a corpus of so many; none for n-grams."""
    if isinstance(mechanism, NGrams):
        return None
    return chance.floor_of(mechanism, people, None, listed)


def chances_with_corpus(mechanism: Searched, people: float, shares: Floats, listed: int) -> Floats:
    """Return how likely strings of these shares are found that are in a corpus of so many."""
    if isinstance(mechanism, NGrams):
        raise TypeError("n-grams are searched without a corpus")
    return chance.chances_of(mechanism, people, shares, None, listed)


def people_needed(mechanism: Searched, share: float, length: int | None = None) -> int:
    """Return how many people must answer for a string of this share to be found nearly always."""
    return int(_way(mechanism).people_needed(mechanism, share, _checked(length)))


def chances_of(
    mechanism: Searched, people: float, shares: Floats, length: int | None = None
) -> Floats:
    """Return how likely strings of these shares and of a length are found among so many people.

    >>> from murmurs.mechanisms.strings.dictionary import planned_dictionary
    >>> asked = planned_dictionary(9.0, longest=6, method="ngrams")
    >>> chances_of(asked, 10**5, floor_of(asked, 10**5) * np.array([0.5, 1.0])).round(2)
    array([0. , 0.9])
    """
    if not ((shares > 0) & (shares <= 1)).all():
        wrong = shares[~((shares > 0) & (shares <= 1))].ravel()[0]
        raise ValueError(f"shares must be above 0 and at most 1, not {wrong:g}")
    return np.asarray(_way(mechanism).chances_of(mechanism, people, shares, _checked(length)))


def _checked(length: int | None) -> int | None:
    return None if length is None else whole(length, "length", 1, LONGEST)
