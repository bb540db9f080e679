"""One pass of the search for strings: prefixes grow letter by letter while the levels support them.

A wide beam of prefixes is kept, ranked by how likely their letters are beforehand and by the
likelihood ratios of all levels so far. Strings that ended stay in the beam, and each later level
tests them again.

A string is accepted if the levels after the point at which it left all others together pay for the
search: a false string shares a prefix with a true one up to some level, and after it all levels are
noise to it. Their joint p-value is multiplied by one over the prior probability of the letters in
between (a weighted Bonferroni bound), and by the number of prefixes it could have left. It must be
small at every level at which the string may have left another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from murmurs.counts import Counts
from murmurs.hashing.pieces import GOES_ON, WHOLE
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import log_normal_tail, normal_quantiles_of_logs
from murmurs.questions.dictionary.evidence import error_of_absent, weigh
from murmurs.questions.dictionary.letters import Codes, Letters
from murmurs.questions.dictionary.model import FEWEST, LetterModel, seen_in
from murmurs.questions.dictionary.prior import Prior, Spelled, joined

LEAST = 6.5
"""The smallest share worth finding, in standard errors of all people together."""

MOST_BEGINNINGS = 500_000
"""Beginnings that are all tried at the first level; more only if a corpus says which are likely."""

FIRM = 4.0
"""The log-likelihood ratio, less the price of letters, from which a prefix is taken as real."""

BROAD = 5
"""Levels that are searched twice as broadly as the others."""

MOST_EXTENDED = 2**22
"""The most extensions of prefixes by one letter that are ranked, which bounds memory."""

SEVERAL = 0.5
"""The logarithm of what p-values are multiplied by since a string may leave others at any letter.

With this number, chosen on simulated surveys, an adjusted p-value of 0.05 gave less than 0.05 false
strings in a survey. A factor for each level would be safe and far too much: what is false must
pass at every letter after the one at which it left.
"""

Progress = Callable[[int, int], None]
"""Called after each step with the number of steps done and of all steps."""


@dataclass(frozen=True, eq=False)
class Beam:
    """Prefixes under consideration, with their evidence and the price of their letters by level.

    ``codes`` are the numbers of their letters, ``sizes`` how many there are. Those that have not
    ended all have the same length.
    """

    codes: Codes
    sizes: Integers
    ended: NDArray[np.bool_]
    spelled: Spelled
    totals: Floats
    scores: Floats
    prices: Floats


@dataclass(frozen=True, eq=False)
class Grown:
    """Prefixes to be tried at a level: the number in the beam each came from, and the new price."""

    codes: Codes
    sizes: Integers
    ended: NDArray[np.bool_]
    spelled: Spelled
    parents: Integers
    prices: Floats


@dataclass(frozen=True, eq=False)
class Found:
    """Strings at the end of the search, with the logarithm of their adjusted p-values.

    An adjusted p-value may exceed one: it is a p-value times everything that was searched. It is
    infinite for prefixes of strings that go on. ``later`` are the scores of all levels from each
    level on, together; ``logs`` are the logarithms of what their p-values are multiplied by.
    ``asked`` is the number of people from each level on, and ``whole`` the first level that saw
    the whole string. ``alike`` is what the logarithms grow by if there may be as many prefixes as
    are as common as the string seems to be.
    """

    texts: list[str]
    log_p: Floats
    tried: int
    later: Floats
    logs: Floats
    asked: Floats
    whole: Integers
    alike: Floats

    @property
    def cautious(self) -> Found:
        """The same, if a string may have left any prefix as common as it seems to be itself.

        Far from certainty the prefixes that are known are few of those that people hold.
        """
        logs = self.logs + self.alike
        log_p = np.where(np.isinf(self.log_p), np.inf, _log_p(self.later, logs))
        return replace(self, logs=logs, log_p=log_p)

    def margins(self, log_limit: float) -> Floats:
        """Return by how many standard errors each string passed a limit of its p-value.

        A standard error is that of the levels that saw the string whole. With scores at these
        levels that are less by more than the margin, and the same before, it would have failed.
        """
        needed = -normal_quantiles_of_logs(np.minimum(log_limit - self.logs, -1e-9))
        spare = (self.later - np.where(self.logs == -np.inf, -np.inf, needed)) * np.sqrt(self.asked)
        return np.asarray(spare.min(axis=1) / np.sqrt(self.asked[self.whole]))


@dataclass(frozen=True)
class Breadth:
    """How many prefixes are kept at a level, and how many are tried.

    Strings are lost while they are short, so the first levels are searched twice as broadly.
    """

    kept: int
    tried: int

    def at(self, number: int, size: int) -> Breadth:
        """Return the breadth at a level, for so many letters."""
        more = 2 if number < BROAD else 1
        return Breadth(max(1, min(more * self.kept, MOST_EXTENDED // size)), more * self.tried)


def search(
    levels: Sequence[Counts],
    lengths: Sequence[int],
    letters: Letters,
    prior: Prior,
    breadth: Breadth,
    *,
    sure: int = 1,
    learn: bool = False,
    strong: list[tuple[str, ...]],
    progress: Callable[[], None] = lambda: None,
) -> Found:
    """Return all strings that are left in the beam after the last level.

    ``sure`` is how many strings there are at least, by an earlier pass. With ``learn``, the letters
    are learnt on the way from the prefixes that are firm. ``strong`` are the pieces of each level
    that many people hold, by an earlier pass; they are replaced by those of this one.
    """
    people = np.array([level.n for level in levels], np.float64)
    kept = Beam(
        np.zeros((1, 0), np.int32),
        np.zeros(1, np.int64),
        np.zeros(1, bool),
        prior.start(),
        np.zeros(1),
        np.zeros((1, 0)),
        np.zeros((1, 0)),
    )
    known, tried = [1], 0
    for number, (level, length) in enumerate(zip(levels, lengths, strict=True)):
        before = lengths[number - 1] if number else 0
        broad = breadth.at(number, letters.size)
        most = broad.tried if number else MOST_BEGINNINGS
        grown = _grown(kept, letters, prior, before, length, most)

        def piece(i: int, grown: Grown = grown) -> str:
            text = letters.text(grown.codes[i, : grown.sizes[i]].tolist())
            return (WHOLE if grown.ended[i] else GOES_ON) + text

        keys = letters.keys(grown.codes, grown.sizes, grown.ended)
        seen = weigh(level, keys, piece, strong[number])
        strong[number] = seen.strong
        tried += len(grown.sizes)
        ratios = _log_ratios(seen.scores, LEAST * math.sqrt(people[number] / people.sum()))
        totals = kept.totals[grown.parents] + grown.prices + ratios
        best = _largest(totals, broad.kept)
        own = grown.parents[best]
        firm = totals[best] > FIRM
        known.append(max(known[-1], int(firm.sum()), sure))  # each goes on or ends
        kept = Beam(
            grown.codes[best],
            grown.sizes[best],
            grown.ended[best],
            grown.spelled[best],
            np.minimum(totals[best], -math.log(known[-1])),
            np.column_stack([kept.scores[own], seen.scores[best]]),
            np.column_stack([kept.prices[own], grown.prices[best]]),
        )
        if learn and firm.sum() >= FEWEST:
            texts = [letters.text(row[:size]) for row, size in _rows(kept, firm)]
            prior = Prior(LetterModel(seen_in(letters, texts, kept.ended[firm].tolist()), 1, 10.0))
        progress()
    error = error_of_absent(cast(ORR, levels[0].mechanism), 1)
    return _judged(kept, letters, prior, lengths, people, known, tried, error)


def _log_ratios(scores: Floats, least: float) -> Floats:
    """Return log-likelihood ratios of the best share above the smallest one, to none at all."""
    return np.where(scores > least, scores**2 / 2, least * scores - least**2 / 2)


def _rows(kept: Beam, chosen: NDArray[np.bool_]) -> list[tuple[list[int], int]]:
    return list(zip(kept.codes[chosen].tolist(), kept.sizes[chosen].tolist(), strict=True))


def _largest(values: Floats, most: int) -> Integers:
    """Return the places of the largest values, the largest first; of equal ones the earlier."""
    if len(values) > most:
        limit = np.partition(values, len(values) - most)[len(values) - most]
        places = np.flatnonzero(values >= limit)
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:most]


def _grown(
    kept: Beam, letters: Letters, prior: Prior, before: int, length: int, most: int
) -> Grown:
    """Return all strings that go on from the beam up to a length or end on the way.

    Of more than ``most``, those are taken that are most likely beforehand.
    """
    parents = np.flatnonzero(~kept.ended)
    codes, spelled = kept.codes[parents], kept.spelled[parents]
    prices = np.zeros(len(parents))
    parts: list[Grown] = []
    for size in range(before, length):
        steps, logs = prior.after(spelled, size)
        if not size:
            steps[:, letters.end] = -np.inf  # the empty string is no answer
        steps += prices[:, None]
        ranked = (kept.totals[parents][:, None] + steps).ravel()
        chosen = np.sort(_largest(ranked, min(most, int(np.isfinite(ranked).sum()))))
        origin, letter = np.divmod(chosen, letters.size)
        price, log = steps.ravel()[chosen], logs.ravel()[chosen]
        stops = letter == letters.end
        at = origin[stops]
        sizes = np.full(len(at), size)
        parts.append(_over(codes[at], sizes, spelled[at], parents[at], price[stops], length))
        origin, letter = origin[~stops], letter[~stops]
        codes = np.column_stack([codes[origin], letter.astype(np.int32)])
        spelled = prior.follow(spelled[origin], size, letter, log[~stops])
        parents, prices = parents[origin], price[~stops]
    old, going = np.flatnonzero(kept.ended), np.zeros(len(codes), bool)
    nothing = np.zeros(len(old))
    parts.append(_over(kept.codes[old], kept.sizes[old], kept.spelled[old], old, nothing, length))
    parts.insert(0, Grown(codes, np.full(len(codes), length), going, spelled, parents, prices))
    return Grown(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.ended for part in parts]),
        joined([part.spelled for part in parts]),
        np.concatenate([part.parents for part in parts]),
        np.concatenate([part.prices for part in parts]),
    )


def _over(
    codes: Codes,
    sizes: Integers,
    spelled: Spelled,
    parents: Integers,
    prices: Floats,
    length: int,
) -> Grown:
    """Return strings that ended, with room for as many letters as those that go on."""
    room = np.zeros((len(codes), length - codes.shape[1]), np.int32)
    return Grown(
        np.hstack([codes, room]), sizes, np.ones(len(codes), bool), spelled, parents, prices
    )


def _judged(
    kept: Beam,
    letters: Letters,
    prior: Prior,
    lengths: Sequence[int],
    people: Floats,
    known: Sequence[int],
    tried: int,
    error: float,
) -> Found:
    """Return the strings of the last beam with the evidence for them.

    ``error`` is the standard error of the share of an absent string among one person: at most 1 / s
    prefixes are as common as a string with a share of s.
    """
    texts = [letters.text(row[:size]) for row, size in _rows(kept, np.ones(len(kept.sizes), bool))]
    is_whole = kept.ended | (kept.sizes == lengths[-1])
    prices = kept.prices.copy()
    for i in np.flatnonzero(is_whole):
        if texts[i] in prior.trained:
            prices[i] = _by_level(prior.without_itself(texts[i]), lengths)
    asked = np.maximum(np.cumsum(people[::-1])[::-1], 1.0)
    later = _from_the_end(kept.scores * np.sqrt(people)) / np.sqrt(asked)
    logs = np.log(np.array(known[: len(people)], np.float64)) + SEVERAL - _from_the_end(prices)
    first = np.searchsorted(lengths[:-1], kept.sizes, side="right")
    logs[np.arange(len(lengths)) > first[:, None]] = -np.inf  # nothing branches off after the end
    log_p = np.where(is_whole, _log_p(later, logs), np.inf)
    seeming = np.clip(later * error / np.sqrt(asked), 1e-9, 1.0)
    alike = np.maximum(-np.log(seeming) - np.log(np.array(known[: len(people)], np.float64)), 0.0)
    alike[:, 0] = 0.0  # nothing branches off before the first letter
    return Found(texts, log_p, tried, later, logs, asked, first, alike)


def _log_p(later: Floats, logs: Floats) -> Floats:
    """Return adjusted p-values: the largest of those of leaving a prefix at each level."""
    return np.asarray((log_normal_tail(later) + logs).max(axis=1))


def _by_level(logs: Floats, lengths: Sequence[int]) -> Floats:
    """Return the log-probabilities of a string's letters, added up between the lengths."""
    return np.array(
        [float(logs[a:b].sum()) for a, b in zip((0, *lengths[:-1]), lengths, strict=True)]
    )


def _from_the_end(table: Floats) -> Floats:
    return np.asarray(np.cumsum(table[:, ::-1], axis=1)[:, ::-1])
