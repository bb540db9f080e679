"""Random draws for whole populations that NumPy does not offer at every size."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats, Integers

_NUMPY_LIMIT = 10**9
_ONE_BY_ONE = 32
_FEW_PLACES = 4096
"""Up to so many buckets it is remembered how they are halved, which else takes half of the time."""


def choose(pool: Integers, size: int, rng: np.random.Generator) -> Integers:
    """Draw ``size`` of the people in ``pool`` without replacement; return how many of each kind.

    NumPy's multivariate hypergeometric distribution stops at 10**9 people. Above that, a coin first
    decides for each person; a surplus is then drawn from the chosen, or a shortfall from the rest.
    Given its size, a set chosen by coins is uniform, so the corrected set is uniform too. Each
    round leaves about the square root of the previous number to draw.

    >>> choose(np.array([3, 0]), 2, np.random.default_rng(1))
    array([2, 0])
    """
    total = int(pool.sum())
    if not 0 <= size <= total:
        raise ValueError(f"cannot draw {size} of {total} people")
    if total < _NUMPY_LIMIT:
        return rng.multivariate_hypergeometric(pool, size, method="marginals")
    if size <= _ONE_BY_ONE:
        return _choose_one_by_one(pool, size, rng)
    chosen: Integers = rng.binomial(pool, size / total)
    surplus = int(chosen.sum()) - size
    if surplus > 0:
        return chosen - choose(chosen, surplus, rng)
    return chosen + choose(pool - chosen, -surplus, rng)


def _choose_one_by_one(pool: Integers, size: int, rng: np.random.Generator) -> Integers:
    left = pool.copy()
    for _ in range(size):
        place = rng.integers(left.sum())
        left[np.searchsorted(np.cumsum(left), place, side="right")] -= 1
    return pool - left


def split_uniformly(people: Integers, places: int, rng: np.random.Generator) -> Integers:
    """Assign people uniformly to ``places`` buckets; return counts, with buckets as the last axis.

    The buckets are halved again and again, and a binomial draw splits the people. The probabilities
    are ratios of small whole numbers; drawing bucket by bucket would accumulate rounding errors.

    >>> split_uniformly(np.array([10**6]), 2, np.random.default_rng(1))
    array([[499701, 500299]])
    """
    state = people[..., None]
    halvings = _few_halvings if places <= _FEW_PLACES else _halvings
    for chances, kept in halvings(places):
        gone = rng.binomial(state, chances)
        state = np.stack([gone, state - gone], axis=-1).reshape(*people.shape, -1)[..., kept]
    return state


def _halvings(places: int) -> tuple[tuple[Floats, NDArray[np.bool_]], ...]:
    """Return, for each halving, the part that goes to the left, and which halves have buckets."""
    out, sizes = [], np.array([places])
    while sizes.max() > 1:
        left = sizes // 2
        chances = left / sizes
        sizes = np.stack([left, sizes - left], axis=-1).ravel()
        out.append((chances, sizes > 0))
        sizes = sizes[sizes > 0]
    return tuple(out)


_few_halvings = lru_cache(maxsize=32)(_halvings)


def distinct_law(draws: int, places: int) -> Floats:
    """Return the probabilities of 0, 1, ... different buckets among that many uniform draws.

    >>> distinct_law(2, 4)
    array([0.  , 0.25, 0.75])
    """
    law = [Fraction(1)]
    for _ in range(draws):
        longer = [Fraction(0)] * (len(law) + 1)
        for found, chance in enumerate(law):
            new = Fraction(places - found, places)
            longer[found + 1] += chance * new
            longer[found] += chance * (1 - new)
        law = longer
    return np.array([float(chance) for chance in law])


def strange_likelihoods(draws: int, places: int, up: float, down: float) -> Floats:
    """Return the mean likelihood of a report with 0, 1, ... ones if its buckets are random.

    There are ``draws`` uniform buckets; a bucket whose bit is one multiplies the likelihood by
    ``up``, one whose bit is zero by ``down``, each different bucket once.

    >>> strange_likelihoods(1, 4, 3.0, 0.5)
    array([0.5  , 1.125, 1.75 , 2.375, 3.   ])
    """
    law, out = distinct_law(draws, places), np.zeros(places + 1)
    for ones in range(places + 1):
        for size in range(draws + 1):
            sets = comb(places, size)
            for on in range(min(size, ones) + 1):
                chance = comb(ones, on) * comb(places - ones, size - on) / sets if sets else 0.0
                out[ones] += law[size] * chance * up**on * down ** (size - on)
    return out


def subset_totals(people: Integers, places: int, rng: np.random.Generator) -> Integers:
    """Return how many people hold each bucket; a person of kind m holds m of them, uniformly.

    ``people`` counts the people by kind along the last axis. The draw sweeps over the buckets:
    somebody with m left to find among the remaining buckets holds the next with probability
    m / left, so only the numbers of people by m are kept.

    >>> subset_totals(np.array([5, 0, 10**6, 7]), 3, np.random.default_rng(1))
    array([666955, 667347, 665719])
    """
    waiting = people.copy()
    to_find = np.arange(people.shape[-1])
    out = np.empty((*people.shape[:-1], places), np.int64)
    for place in range(places):
        found = rng.binomial(waiting, np.minimum(to_find / (places - place), 1))
        out[..., place] = found.sum(axis=-1)
        waiting -= found
        waiting[..., :-1] += found[..., 1:]
    return out
