"""The search for strings: prefixes grow letter by letter while the levels support them.

A wide beam of prefixes is kept, ranked by a lower cumulative sum of log-likelihood ratios: what
every run of recent levels says at least for the prefix, so that an early accident is forgotten and
a later contradiction is not. Strings that ended stay in the beam, and each later level tests them
again. A letter model, learnt from the prefixes found so far or from a corpus, says beforehand which
letters are likely next.

A string is accepted if the levels after the point at which it left all others together pay for the
search: a false string shares a prefix with a true one up to some level, and after it all levels are
noise to it. Their joint p-value is multiplied by one over the probability that the letter model
gave to the letters in between (a weighted Bonferroni bound), by the number of prefixes it could
have left, and by the number of levels at which it could have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurs.counts import Counts
from murmurs.hashing.pieces import GOES_ON, WHOLE
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import log_normal_tail, normal_quantiles_of_logs
from murmurs.questions.dictionary.evidence import PieceEvidence, error_of_absent, weigh
from murmurs.questions.dictionary.letters import Letters

LEAST = 8.0
"""The smallest share worth finding, in standard errors of all people together."""

MOST_BEGINNINGS = 500_000
"""Beginnings that are all tried at the first level; more only if a corpus says which are likely."""

MOST_TRIED = 200_000
"""The most prefixes that are tried at each later level, those that are likely beforehand.

It bounds time and memory with large alphabets; 2000 prefixes and 99 letters stay below it.
"""

FIRM = 2.0
"""Score from which a prefix is taken as real when the letter model learns."""

Progress = Callable[[int, int], None]
"""Called after each step with the number of steps done and of all steps."""


@dataclass(frozen=True, eq=False)
class Beam:
    """Prefixes under consideration, with their evidence at each level so far."""

    texts: list[str]
    ended: NDArray[np.bool_]
    totals: Floats
    scores: Floats
    prices: Floats


@dataclass(frozen=True, eq=False)
class Found:
    """Strings at the end of the search, with the logarithm of their adjusted p-values.

    An adjusted p-value may exceed one: it is a p-value times everything that was searched. It is
    infinite for prefixes of strings that go on. ``later`` are the scores of all levels from each
    level on, together; ``logs`` are the logarithms of what their p-values are multiplied by.
    ``asked`` is the number of people from each level on, and ``whole`` the first level that saw
    the whole string.
    """

    texts: list[str]
    log_p: Floats
    tried: int
    later: Floats
    logs: Floats
    asked: Floats
    whole: Integers

    def margins(self, log_limit: float) -> Floats:
        """Return by how many standard errors each string passed a limit of its p-value.

        A standard error is that of the levels that saw the string whole. With scores at these
        levels that are less by more than the margin, and the same before, it would have failed.
        """
        needed = -normal_quantiles_of_logs(np.minimum(log_limit - self.logs, -1e-9))
        spare = (self.later - np.where(self.logs == -np.inf, -np.inf, needed)) * np.sqrt(self.asked)
        return np.asarray(spare.min(axis=1) / np.sqrt(self.asked[self.whole]))


def search(
    counts: Counts,
    mechanism: Prefixes,
    letters: Letters,
    *,
    beam: int,
    learn: bool,
    progress: Progress | None = None,
) -> Found:
    """Return all strings that are left in the beam after the last level."""
    levels = [mechanism.at_level(counts, i) for i in range(len(mechanism.levels))]
    people = np.array([level.n for level in levels], np.float64)
    smallest = LEAST * error_of_absent(mechanism.level(0), people.sum())
    kept = Beam([""], np.zeros(1, bool), np.zeros(1), np.zeros((1, 0)), np.zeros((1, 0)))
    known, tried = [1], 0
    for number, (level, length) in enumerate(zip(levels, mechanism.lengths, strict=True)):
        before = mechanism.lengths[number - 1] if number else 0
        texts, ended, parents, prices = _grown(kept, letters, length - before, beam)
        marks = [WHOLE if is_whole else GOES_ON for is_whole in ended.tolist()]
        seen = weigh(level, [mark + text for mark, text in zip(marks, texts, strict=True)])
        tried += len(texts)
        ratios = _log_ratios(seen, smallest)
        totals = np.minimum(kept.totals[parents], 0) + prices + ratios
        best = np.argsort(-totals, kind="stable")[:beam]
        kept = Beam(
            [texts[i] for i in best],
            ended[best],
            totals[best],
            np.column_stack([kept.scores[parents[best]], seen.scores[best]]),
            np.column_stack([kept.prices[parents[best]], prices[best]]),
        )
        firm = np.flatnonzero(kept.totals > FIRM)
        known.append(max(1, len(firm)))
        if learn and len(firm):
            weights = np.sqrt(np.maximum(seen.shares[best][firm], 1e-6))
            letters.learn([kept.texts[i] for i in firm], kept.ended[firm].tolist(), weights)
        if progress is not None:
            progress(number + 1, len(levels))
    sizes = np.array([len(text) for text in kept.texts])
    is_whole = kept.ended | (sizes == mechanism.lengths[-1])
    first = np.searchsorted(mechanism.lengths[:-1], sizes, side="right")
    later, logs, asked = _joint(kept, people, known)
    log_p = np.where(is_whole, (log_normal_tail(later) + logs).max(axis=1), np.inf)
    return Found(kept.texts, log_p, tried, later, logs, asked, first)


def _grown(
    kept: Beam, letters: Letters, steps: int, beam: int
) -> tuple[list[str], NDArray[np.bool_], Integers, Floats]:
    """Return all strings that go on from the beam by some letters or end on the way.

    With each comes the number of the prefix it came from, and the log-probability of its letters.
    """
    parents = np.flatnonzero(~kept.ended)
    texts = [kept.texts[i] for i in parents]
    contexts = np.array([letters.context(text) for text in texts], np.int64).reshape(-1, 2)
    prices = np.zeros(len(texts))
    end = letters.size - 1
    done: list[tuple[list[str], Integers, Floats]] = []
    for _ in range(steps):
        logs = prices[:, None] + letters.after(contexts)
        if texts == [""]:
            logs[:, end] = -np.inf  # the empty string is no answer
        ranked = np.minimum(kept.totals[parents], 0)[:, None] + logs
        most = max(beam, min(beam * letters.size, MOST_TRIED))
        if kept.texts == [""]:
            most = max(most, MOST_BEGINNINGS)
        chosen = np.flatnonzero(np.isfinite(ranked.ravel()))
        if len(chosen) > most:
            order = np.argsort(-ranked.ravel()[chosen], kind="stable")[:most]
            chosen = np.sort(chosen[order])
        origin, letter = np.divmod(chosen, letters.size)
        stops = letter == end
        stopped = origin[stops]
        done.append(([texts[i] for i in stopped], parents[stopped], logs.ravel()[chosen[stops]]))
        origin, letter, chosen = origin[~stops], letter[~stops], chosen[~stops]
        alphabet = letters.alphabet
        pairs = zip(origin.tolist(), letter.tolist(), strict=True)
        texts = [texts[i] + alphabet[j] for i, j in pairs]
        contexts = np.column_stack([contexts[origin, 1], letter])
        parents, prices = parents[origin], logs.ravel()[chosen]
    old = np.flatnonzero(kept.ended)
    ended_texts = [text for part, _, _ in done for text in part] + [kept.texts[i] for i in old]
    ended_parents = np.concatenate([*(part for _, part, _ in done), old])
    ended_prices = np.concatenate([*(part for _, _, part in done), np.zeros(len(old))])
    flags = np.concatenate([np.zeros(len(texts), bool), np.ones(len(ended_texts), bool)])
    return (
        texts + ended_texts,
        flags,
        np.concatenate([parents, ended_parents]).astype(np.int64),
        np.concatenate([prices, ended_prices]),
    )


def _log_ratios(seen: PieceEvidence, smallest: float) -> Floats:
    """Return log-likelihood ratios of the best share above the smallest one, to none at all."""
    linear = (seen.shares * smallest - smallest**2 / 2) / seen.errors**2
    return np.where(seen.shares >= smallest, seen.scores**2 / 2, linear)


def _joint(kept: Beam, people: Floats, known: Sequence[int]) -> tuple[Floats, Floats, Floats]:
    """Return the scores from each level on, what p-values are multiplied by, and the people."""
    levels = len(people)
    weighted = kept.scores * np.sqrt(people)
    asked = np.maximum(np.cumsum(people[::-1])[::-1], 1.0)
    later = _from_the_end(weighted) / np.sqrt(asked)
    logs = np.log(np.array(known[:levels], np.float64)) + math.log(levels)
    logs = logs - _from_the_end(kept.prices)
    logs[:, 1:][kept.prices[:, 1:] == 0] = -np.inf  # nothing branches off after the end
    return later, logs, asked


def _from_the_end(table: Floats) -> Floats:
    return np.asarray(np.cumsum(table[:, ::-1], axis=1)[:, ::-1])
