"""Strings from n-grams: what is common at each position, what goes together, what passes a test.

The method of Fanti, Pihur and Erlingsson (2016), section 4, with its errors corrected. The n-grams
of every position are an open question over all n-grams of the alphabet. The joint shares of those
that are common are estimated for each pair of positions. Cliques of n-grams that go together are
candidates, and the reports of whole strings test them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from murmurs.counts import Counts
from murmurs.estimators import estimate
from murmurs.hashing.ngrams import PAD, goes_on, possible
from murmurs.hashing.strings import MOST_CANDIDATES
from murmurs.inference.detection import Control
from murmurs.mechanisms.hashed.candidates import OTHER
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.numerics.arrays import Floats
from murmurs.questions.dictionary.ngrams.cliques import Edges, cliques
from murmurs.questions.dictionary.ngrams.pairs import GramSide, delta, joined
from murmurs.questions.dictionary.search import Progress

MOST_GRAMS = 200
"""The most n-grams of a position that are considered, the most common ones."""


@dataclass(frozen=True, eq=False)
class FoundByNGrams:
    """The candidates with the logarithms of their adjusted p-values, and what led to them.

    ``grams`` are the common n-grams of each position, ``edges`` the number of pairs of them that go
    together, and ``threshold`` the share delta. ``all_tested`` is false if there were more cliques
    than can be tested, so that only those with the best evidence were.
    """

    texts: list[str]
    log_p: Floats
    tried: int
    grams: tuple[tuple[str, ...], ...]
    threshold: float
    edges: int
    all_tested: bool


def search_ngrams(
    counts: Counts,
    asked: NGrams,
    letters: str,
    *,
    error_rate: float = 0.05,
    control: Control = "bonferroni",
    as_printed: bool = False,
    factor: float = 1.0,
    progress: Progress | None = None,
) -> FoundByNGrams:
    """Return all candidates that n-grams suggest, with what the reports of whole strings say.

    An n-gram is common if its share at the position is significant at the error rate, with a
    Bonferroni correction for all n-grams. Two n-grams go together unless their joint share is
    significantly below the threshold, given the noise of that pair. A clique of n-grams is a
    candidate. P-values are adjusted for all candidates, so that a string is accepted at the error
    rate; for control "fdr" by the rule of Benjamini and Yekutieli (2001).

    With ``as_printed``, two n-grams go together if their joint share is estimated above the
    threshold of the paper's eq. 2 as printed, whatever the noise. ``factor`` multiplies the
    threshold.
    """
    steps = asked.positions + len(asked.channel.pairs) + 1
    done = itertools.count(1)

    def step() -> None:
        if progress is not None:
            progress(next(done), steps)

    grams: list[tuple[str, ...]] = []
    for position in range(asked.positions):
        grams.append(_common(asked, counts, position, letters, error_rate))
        step()
    threshold = factor * delta(asked, counts.n, as_printed=as_printed)
    edges = Edges({}, {})
    texts: list[str] = []
    is_complete = True
    if all(grams):
        sides = [GramSide.of(asked.gram, own) for own in grams]
        for i, j in asked.channel.pairs:
            table = asked.pair_counts(counts, i, j)
            both, weights = joined(asked, table, sides[i], sides[j], threshold, as_printed)
            if PAD not in letters:
                both &= [[goes_on(a, b) for b in grams[j]] for a in grams[i]]
            edges.joined[i, j], edges.weights[i, j] = both, weights
            step()
        found, is_complete = cliques([len(own) for own in grams], edges)
        texts = [
            "".join(own[number] for own, number in zip(grams, row, strict=True)).rstrip(PAD)
            for row in found.tolist()
        ]
    texts = [text for text in texts if text and text != OTHER]
    log_p = _log_p_values(asked.whole_counts(counts), texts, control)
    if progress is not None:
        progress(steps, steps)
    return FoundByNGrams(
        texts, log_p, len(texts), tuple(grams), threshold, edges.count, is_complete
    )


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


def _log_p_values(whole: Counts, texts: list[str], control: Control) -> Floats:
    """Return log p-values of the candidates in the counts of whole strings, adjusted for all."""
    if not texts:
        return np.zeros(0)
    p_values = estimate(whole.over(texts)).detected().p_values[: len(texts)]
    many = float(len(texts))
    if control == "fdr":
        many *= float((1 / np.arange(1, len(texts) + 1)).sum())
    return np.log(np.maximum(p_values, 1e-300)) + math.log(many)
