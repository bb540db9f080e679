"""How likely a string is found, and so which shares can be found: known before anybody is asked.

A string must not be lost on the way, and the levels after each of its letters must pay for the
search. Both are followed level by level, for a string whose letters nothing predicts. The score of
a level is normal: its mean and deviation are those of a binomial number of reports, and strings of
other people that share buckets by chance add to its noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from murmurs.boundary.checks import real
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.mechanisms.strings.prefix_levels import MOST_FIRST
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantiles_of_logs, normal_tail
from murmurs.questions.dictionary.passes import BEAM
from murmurs.questions.dictionary.search import LEAST, SEVERAL

NEARLY_ALWAYS = 0.95
"""The chance with which strings at the noise floor are found."""

ERROR_RATE = 0.05
"""The error rate of the search that the floor is for."""

LOST = -math.log(BEAM) - 2.0
"""The total below which a prefix falls out of the beam.

The totals of all prefixes are logarithms of numbers that sum to about one, so those kept are less
than one over their number on average, and the last of them is some times smaller.
"""

SURPRISE = 0.1
"""What a letter costs more than if all were equally likely.

The letter model has learnt from other strings, and may expect other letters.
"""

CROWDED = 0.25
"""The squares of the shares of all rarer strings, as a part of the share of a string.

They are strings that nothing tells apart from noise, so they add to it. The part is a tenth where
shares fall as 1 / rank, and one only if all people hold strings that are just as common.
"""

SPARSE, HUNDREDS = 4.0, 800
"""How many times more people it takes among hardly any, and the number around which that ends.

Cohorts then have a report or none, and scores are far from normal. Both numbers were chosen on
simulations; from two thousand people on they make no difference.
"""

STATES, HALVINGS = 64, 24
"""Totals that are told apart, and steps of the search for the share of a given chance."""


@dataclass(frozen=True, eq=False)
class _Path:
    """The levels that a string passes: what letters cost, and the mean and spread of scores."""

    prices: Floats
    scores: Floats
    spreads: Floats
    smallest: Floats
    people: Floats
    whole: int


def chance_of(
    mechanism: Prefixes, people: float, share: float, length: int, listed: int | None = None
) -> float:
    """Return how likely a string of this share and length is found among so many people.

    With ``listed``, the string is one of so many of a corpus.

    >>> from murmurs.mechanisms.strings.prefix_levels import planned
    >>> asked = planned(4.0, longest=20, letters=38)
    >>> [round(chance_of(asked, 10**6, share, 10), 1) for share in (0.002, 0.003, 0.006)]
    [0.0, 0.1, 1.0]
    """
    path = _path(mechanism, people, share, min(length, mechanism.lengths[-1]), listed)
    return _kept(path, share) * _accepted(path, share)


def usual_length(mechanism: Prefixes) -> int:
    """Return three quarters of the longest length; up to it, the floor depends little on length."""
    return max(1, 3 * mechanism.lengths[-1] // 4)


def chances_of(
    mechanism: Prefixes,
    people: float,
    shares: Floats,
    length: int | None = None,
    listed: int | None = None,
) -> Floats:
    """Return the same for several shares, by default for strings of the usual length."""
    letters = usual_length(mechanism) if length is None else length
    each = [chance_of(mechanism, people, share, letters, listed) for share in shares.ravel()]
    return np.array(each).reshape(shares.shape)


@cache
def floor_of(
    mechanism: Prefixes, people: float, length: int | None = None, listed: int | None = None
) -> float:
    """Return the share above which strings up to a length are nearly always found.

    Without a length it is for strings of up to three quarters of the longest. Longer ones are seen
    whole by few people, and must be more common. With ``listed``, it is for the strings of a corpus
    of so many.
    """
    length = usual_length(mechanism) if length is None else length
    low, high = 1e-9, 1.0
    if chance_of(mechanism, people, high, length, listed) < NEARLY_ALWAYS:
        return high
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        is_found = chance_of(mechanism, people, middle, length, listed) >= NEARLY_ALWAYS
        low, high = (low, middle) if is_found else (middle, high)
    return high


def people_needed(mechanism: Prefixes, share: float, length: int | None = None) -> int:
    """Return how many people must answer for a string of this share to be found nearly always.

    The number is rounded up to three digits.

    >>> from murmurs.mechanisms.strings.prefix_levels import planned
    >>> people_needed(planned(4.0, longest=20, letters=38), 0.01)
    259000
    """
    share = real(share, "share", 1e-9, 1.0)
    length = usual_length(mechanism) if length is None else length
    low, high = 1.0, float(MOST_PEOPLE)
    if chance_of(mechanism, high, share, length) < NEARLY_ALWAYS:
        raise ValueError(
            f"a share of {share:g} cannot be found, however many people answer: too many strings "
            "share its buckets; ask for a larger share"
        )
    for _ in range(2 * HALVINGS):
        middle = math.sqrt(low * high)
        is_found = chance_of(mechanism, middle, share, length) >= NEARLY_ALWAYS
        low, high = (low, middle) if is_found else (middle, high)
    unit = int(10 ** max(len(str(int(high))) - 3, 0))
    return math.ceil(high / unit) * unit


def _path(
    mechanism: Prefixes, people: float, share: float, length: int, listed: int | None
) -> _Path:
    """Return the levels of a string of this share and length."""
    cohorts = np.array([cohorts for _, cohorts in mechanism.levels], np.float64)
    people /= 1 + SPARSE * math.exp(-((people / HUNDREDS) ** 2))
    n = people * cohorts / cohorts.sum()
    null = 1 / mechanism.width
    gain = float(mechanism.truth_probability) * (1 - null)
    errors = np.sqrt(null * (1 - null) / n) / gain
    # Rarer strings, which are not solved for, share a bucket with it in some of the cohorts.
    collisions = 1 + CROWDED * share * null / ((1 - null) * cohorts) / errors**2
    held = min(null + gain * share, 1 - 1e-12)
    # Half a report is taken off, see `evidence`, and half since numbers of reports are whole.
    seen = np.maximum(held - 1 / n, null * (1 + 1e-9))
    deviance = seen * np.log(seen / null) + (1 - seen) * np.log((1 - seen) / (1 - null))
    scores = np.sqrt(2 * n * np.maximum(deviance, 0))
    slopes = np.log(seen * (1 - null) / (null * (1 - seen))) / np.maximum(scores, 1e-12)
    spreads = np.sqrt((n * held * (1 - held) * slopes**2 + collisions - 1) / collisions)
    smallest = LEAST * math.sqrt(null * (1 - null) / people) / gain / errors
    prices, whole = _prices(mechanism, length, listed)
    return _Path(prices, scores / np.sqrt(collisions), spreads, smallest, n, whole)


def _prices(mechanism: Prefixes, length: int, listed: int | None) -> tuple[Floats, int]:
    """Return what the letters cost at each level, and the first level that sees the whole string.

    The largest alphabet for the first length is assumed, with letters that nothing predicts. All
    letters of a string of a corpus cost no more together than one choice among all of it, half of
    the people's strings being others.
    """
    lengths, letter = mechanism.lengths, math.log(MOST_FIRST) / mechanism.lengths[0]
    prices, before = np.zeros(len(lengths)), 0
    for number, to in enumerate(lengths):
        letters = min(to, length + 1) - before  # the end of the string counts as a letter
        prices[number] = (letter + (SURPRISE if number else 0.0)) * max(letters, 0)
        before = to
    if listed is not None:
        prices = np.diff(np.minimum(np.cumsum(prices), math.log(2 * listed)), prepend=0.0)
    whole = next((i for i, to in enumerate(lengths) if to > length), len(lengths) - 1)
    return prices, whole


def _kept(path: _Path, share: float) -> float:
    """Return the probability that the string stays in the beam at all levels.

    Its total is at most that of one among all strings that are as common after each level, less
    the price of the next letters, plus the log-likelihood ratio of the next score. The law of
    totals is followed on a grid.
    """
    most = math.log(share)
    edges = np.linspace(min(LOST, most - 1.0), most, STATES)
    totals, law = np.zeros(1), np.ones(1)
    inner = (edges[1:] + edges[:-1]) / 2
    for price, score, spread, least in zip(
        path.prices, path.scores, path.spreads, path.smallest, strict=True
    ):
        ratios = edges[None, :] - (totals[:, None] - price)
        needed = np.where(
            ratios >= least**2 / 2, np.sqrt(2 * np.maximum(ratios, 0)), ratios / least + least / 2
        )
        above = law @ normal_tail((needed - score) / spread)
        totals, law = np.append(inner, most), np.append(above[:-1] - above[1:], above[-1])
    return float(law.sum())


def _accepted(path: _Path, share: float) -> float:
    """Return the probability that the evidence after the letter that is hardest to prove is enough.

    At most 1 / share strings are as common, and each could be the one that it left.
    """
    asked = np.cumsum(path.people[::-1])[::-1]
    together = np.cumsum((path.scores * np.sqrt(path.people))[::-1])[::-1] / np.sqrt(asked)
    logs = np.cumsum(path.prices[::-1])[::-1] + SEVERAL
    logs[1:] -= math.log(share)
    needed = -normal_quantiles_of_logs(np.minimum(math.log(ERROR_RATE) - logs, -1e-9))
    chances = normal_tail((needed - together) / path.spreads)
    return float(chances[: path.whole + 1].min())
