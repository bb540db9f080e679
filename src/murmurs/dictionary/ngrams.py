"""Strings from n-grams: what is common at each position, what goes together, what passes a test.

The method of Fanti, Pihur and Erlingsson (2016), section 4, with its errors corrected. The n-grams
of every position are an open question over all n-grams of the alphabet. The joint shares of those
that are common are estimated for each pair of positions. Cliques of n-grams that go together are
candidates, and the reports of whole strings test them.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import real, shown
from murmurs.channels.axes import CohortAxis
from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.dictionary.cliques import Edges, cliques
from murmurs.estimation import Estimate
from murmurs.estimators import estimate
from murmurs.hashing.ngrams import PAD, goes_on, possible
from murmurs.hashing.strings import MOST_CANDIDATES
from murmurs.inference.detection import Control
from murmurs.mechanisms.candidates import OTHER
from murmurs.mechanisms.cohorts import Cohorts
from murmurs.mechanisms.ngrams import NGrams
from murmurs.mechanisms.over_ngrams import OverNGrams
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile

MOST_GRAMS = 200
"""The most n-grams of a position that are considered, the most common ones."""

MISSED = 0.05
"""The probability that noise takes away any edge of a string whose share is at the threshold."""

STEPS, CLOSE = 100, 1e-7
"""The most steps of the joint solution, and the relative residual at which it is done."""

Progress = Callable[[int, int], None]
"""Called after each step with the number of steps done and of all steps."""


@dataclass(frozen=True, eq=False)
class NGramDiscovery:
    """The strings that were found, the shares of whole strings, and what led to them.

    ``grams`` are the common n-grams of each position, ``edges`` the number of pairs of them that go
    together, ``threshold`` the share delta, and ``tested`` the number of candidates.
    ``all_tested`` is false if there were more cliques than can be tested, so that only those with
    the best evidence were. ``estimate`` has the shares of the strings that were found, and is None
    if there are none. Shares of strings that barely passed the test are too large on average, since
    the same reports were used for the test.
    """

    texts: tuple[str, ...]
    estimate: Estimate | None
    grams: tuple[tuple[str, ...], ...]
    threshold: float
    edges: int
    tested: int
    all_tested: bool

    def __repr__(self) -> str:
        return f"NGramDiscovery({len(self.texts)} strings found, {self.tested} tested)"


def discover_ngrams(
    counts: Counts,
    *,
    alphabet: str,
    error_rate: float = 0.05,
    control: Control = "bonferroni",
    as_printed: bool = False,
    progress: Progress | None = None,
) -> NGramDiscovery:
    """Find strings of an alphabet that nobody listed, from the counts of `NGrams`.

    An n-gram is common if its share at the position is significant at the error rate, with a
    Bonferroni correction for all n-grams. Two n-grams go together unless their joint share is
    significantly below the threshold, given the noise of that pair. A clique of n-grams is a
    candidate, and is found if the reports of whole strings detect it at the error rate, with
    ``control`` "bonferroni" or "fdr" over all candidates.

    With ``as_printed``, two n-grams go together if their joint share is estimated above the
    threshold of the paper's eq. 2 as printed, whatever the noise.

    >>> from murmurs.mechanisms import NGrams
    >>> asked = NGrams.splitting(18.0, longest=6)
    >>> people = ["tea"] * 3000 + ["mate"] * 2000 + ["coffee"] * 1000
    >>> counts = asked.count(asked.encode_many(people, np.random.default_rng(1)))
    >>> discover_ngrams(counts, alphabet="acefmot").texts
    ('tea', 'mate', 'coffee')
    """
    asked = _asked(counts)
    letters = _checked(alphabet)
    error_rate = real(error_rate, "error_rate", 1e-12, 0.5)
    steps = asked.positions + len(asked.channel.pairs) + 1
    done = itertools.count(1)

    def step() -> None:
        if progress is not None:
            progress(next(done), steps)

    grams: list[tuple[str, ...]] = []
    for position in range(asked.positions):
        grams.append(_common(asked, counts, position, letters, error_rate))
        step()
    threshold = delta(asked, counts.n, as_printed=as_printed)
    edges = Edges({}, {})
    texts: list[str] = []
    is_complete = True
    if all(grams):
        sides = [_Side.of(asked.gram, own) for own in grams]
        for i, j in asked.channel.pairs:
            table = asked.pair_counts(counts, i, j)
            joined, weights = _joined(asked, table, sides[i], sides[j], threshold, as_printed)
            if PAD not in letters:
                joined &= [[goes_on(a, b) for b in grams[j]] for a in grams[i]]
            edges.joined[i, j], edges.weights[i, j] = joined, weights
            step()
        found, is_complete = cliques([len(own) for own in grams], edges)
        texts = [
            "".join(own[number] for own, number in zip(grams, row, strict=True)).rstrip(PAD)
            for row in found.tolist()
        ]
    texts = [text for text in texts if text and text != OTHER]
    whole = asked.whole_counts(counts)
    present = _present(whole, texts, error_rate, control)
    shares = estimate(whole.over(present)) if present else None
    if progress is not None:
        progress(steps, steps)
    if shares is not None:
        order = np.argsort(-shares.shares[: len(present)], kind="stable")
        present = [present[i] for i in order.tolist()]
        shares = estimate(whole.over(present))
    return NGramDiscovery(
        tuple(present),
        shares,
        tuple(grams),
        threshold,
        edges.count,
        len(texts),
        is_complete,
    )


def delta(mechanism: NGrams, n: int, *, as_printed: bool = False) -> float:
    """Return the threshold of joint shares for n reports: Fanti et al. (2016), eq. 2.

    It is meant to be the standard error of a share from n reports, so q - p must be squared under
    the root; ``as_printed`` leaves out the square, as the paper does.

    >>> from murmurs.mechanisms import NGrams, Rappor
    >>> def make(epsilon):
    ...     return Rappor(width=128, hashes=2, cohorts=8, f=0.0, p=0.25, q=0.32)
    >>> paper = NGrams.splitting(4.39, longest=20, make=make)
    >>> round(delta(paper, 10**6), 4), round(delta(paper, 10**6, as_printed=True), 4)
    (0.0062, 0.0016)
    """
    channel = mechanism.gram.channel
    p, gain = float(channel.miss), channel.difference
    if as_printed:
        return math.sqrt(p * (1 - p) / (gain * max(n, 1)))
    return math.sqrt(p * (1 - p) / max(n, 1)) / gain


def _asked(counts: object) -> NGrams:
    """Return the mechanism of the counts; refuse those of another kind."""
    if not isinstance(counts, Counts):
        raise TypeError(f"discover_ngrams takes counts of NGrams, not {type(counts).__name__}")
    mechanism = counts.mechanism
    if isinstance(mechanism, OverNGrams):
        return mechanism.mechanism
    if isinstance(mechanism, NGrams):
        return mechanism
    raise TypeError(f"discover_ngrams takes counts of NGrams, not of {mechanism}")


def _checked(alphabet: object) -> str:
    """Return the letters of an alphabet, in normal form C and each once."""
    if not isinstance(alphabet, str) or not alphabet:
        raise TypeError(f"alphabet must be a string of letters, not {shown(alphabet)}")
    normal = unicodedata.normalize("NFC", alphabet)
    if len(set(normal)) < len(normal):
        twice = next(letter for letter in normal if normal.count(letter) > 1)
        raise ValueError(f"alphabet has the letter {twice!r} more than once")
    return normal


def _common(
    asked: NGrams, counts: Counts, position: int, letters: str, error_rate: float
) -> tuple[str, ...]:
    """Return the n-grams that are common at a position, the most common first."""
    own = asked.gram_counts(counts, position)
    if own.n == 0:
        return ()
    if (len(letters) + 1) ** asked.size > MOST_CANDIDATES:
        raise ValueError(
            f"{len(letters)} letters have more than {MOST_CANDIDATES} n-grams of {asked.size} "
            "letters: ask for shorter n-grams, or take fewer letters"
        )
    every = list(possible(letters, asked.size, first=position == 0))
    found = estimate(own.over(every))
    present = found.detected(error_rate, "bonferroni").present[: len(every)]
    shares = np.where(present, found.unbiased[: len(every)], -1.0)
    best = np.argsort(-shares, kind="stable")[: min(int(present.sum()), MOST_GRAMS)]
    return tuple(every[i] for i in best.tolist())


@dataclass(frozen=True, eq=False)
class _Side:
    """The n-grams of a position and all others together, as they enter joint shares.

    ``held[c]`` says which buckets each is in, in cohort c; ``grams[c]`` how many two of them share.
    """

    axis: CohortAxis
    inverse: Floats
    grams: Floats

    @classmethod
    def of(cls, mechanism: Cohorts[object], texts: Sequence[str]) -> _Side:
        """Return the side of these n-grams."""
        axis = CohortAxis(mechanism.channel_for(mechanism.layout_of(texts), True))
        rows = range(mechanism.cohorts)
        return cls(
            axis, np.stack([axis.q(c) for c in rows]), np.stack([axis.gram(c) for c in rows])
        )

    @property
    def listed(self) -> int:
        """The number of n-grams, without the one answer for all others."""
        return self.axis.k - 1


def joint_shares(table: Counts, one: _Side, two: _Side) -> Floats:
    """Return unbiased joint shares of n-grams at two positions: least squares over all cohorts.

    The last row and the last column are those of all other n-grams. The normal equations are those
    of `murmurs.channels.product.ProductChannel`; conjugate gradients solve them for any number of
    n-grams.
    """
    channel = cast(Tables, table.mechanism.channel)
    n = max(table.n, 1)
    parts = channel.groups(table.cells) / n
    wanted = np.einsum("cax,cxy,cby->ab", one.inverse, table.cells / n, two.inverse, optimize=True)

    def applied(shares: Floats) -> Floats:
        both = one.grams @ shares @ two.grams
        return np.asarray(np.tensordot(parts, both, axes=1))

    diagonals = [np.einsum("caa->ca", side.grams) for side in (one, two)]
    scale = np.einsum("c,ca,cb->ab", parts, *diagonals)
    scale = np.maximum(scale, 1e-12)
    out = np.zeros_like(wanted)
    left = wanted
    direction = step = left / scale
    size = float((left * step).sum())
    first = size
    for _ in range(STEPS):
        if size <= CLOSE**2 * first:
            break
        image = applied(direction)
        length = size / float((direction * image).sum())
        out, left = out + length * direction, left - length * image
        step = left / scale
        size, before = float((left * step).sum()), size
        direction = step + size / before * direction
    return np.asarray(out, np.float64)


def _joined(
    asked: NGrams, table: Counts, one: _Side, two: _Side, threshold: float, as_printed: bool
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which n-grams at two positions go together, and the evidence that they do.

    The evidence is a log-likelihood ratio: that a string of the smallest share that is common at a
    position has both n-grams, to that none has.
    """
    kept = slice(0, one.listed), slice(0, two.listed)
    if table.n == 0:
        return np.full((one.listed, two.listed), not as_printed), np.zeros((one.listed, two.listed))
    shares = joint_shares(table, one, two)[kept]
    error = _absent(asked) / math.sqrt(table.n)
    if as_printed:
        return shares > threshold, shares
    lower = normal_quantile(1 - MISSED / len(asked.channel.pairs))
    reports = table.n * (asked.positions - 1)
    smallest = 4 * math.sqrt(_absent(asked) / reports)
    weights = (np.minimum(shares, smallest) * smallest - smallest**2 / 2) / error**2
    return shares > threshold - lower * error, weights


def _absent(asked: NGrams) -> float:
    """Return the variance of the share of an absent n-gram, from one report."""
    channel = asked.gram.channel
    law = float(channel.miss) + channel.difference * float(channel.filled)
    return law * (1 - law) / (channel.difference**2 * asked.gram.hashes)


def _present(whole: Counts, texts: Sequence[str], error_rate: float, control: Control) -> list[str]:
    """Return the candidates that the reports of whole strings detect."""
    if not texts:
        return []
    found = estimate(whole.over(texts)).detected(error_rate, control)
    return [text for text, is_there in zip(texts, found.present, strict=False) if is_there]
