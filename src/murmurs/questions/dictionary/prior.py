"""How likely strings are before the counts say anything: by their letters, and by a corpus.

With a corpus, a string is one of the corpus with some probability, each equally likely, and
otherwise spelled by the letter model, or it leaves the corpus at some letter. So a string of the
corpus costs little more than one of a known list, and any other string can still be found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from murmurs.numerics.arrays import Floats, Integers
from murmurs.questions.dictionary.letters import Letters
from murmurs.questions.dictionary.model import FEWEST, LetterModel, Seen, learnt, seen_in

MOST_SCORED = 2000
"""The most strings of a corpus that are left out in turn, to choose how letters are predicted."""

MOST_LEARNT = 500
"""The most strings found that letters are learnt from, those with the best evidence."""

LEAVES = 0.01
"""The probability at each letter that a string leaves those of the corpus it began like.

Without it, a string that has many letters in common with one of the corpus could hardly go on in
another way: all that it has in common would count as spelled by chance.
"""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Different strings and their beginnings by length: numbered, with how many have them.

    ``keys`` has for each length the number of the beginning that is one letter shorter, times
    ``size``, plus the last letter. The end of a string counts as a letter, up to ``longest``.
    """

    texts: Sequence[str]
    size: int
    keys: tuple[Integers, ...]
    numbers: tuple[Integers, ...]

    def part(self, length: int, nodes: Integers) -> Floats:
        """Return the part of the strings that have these beginnings; -1 is none of them."""
        numbers = self.numbers[length]
        own = numbers[np.maximum(nodes, 0)] if len(numbers) else np.zeros(len(nodes))
        return np.asarray(np.where(nodes >= 0, own, 0) / self.numbers[0][0])

    def child(self, length: int, nodes: Integers, letters: Integers) -> Integers:
        """Return the beginnings that are one letter longer, or -1."""
        keys, wanted = self.keys[length], nodes * self.size + letters
        if not len(keys):
            return np.full(len(nodes), -1)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((nodes >= 0) & (keys[at] == wanted), at, -1)

    def children(self, length: int, nodes: Integers) -> tuple[Integers, Integers, Floats]:
        """Return all longer beginnings: the row in ``nodes``, the letter, the part of strings."""
        keys, rows = self.keys[length], np.flatnonzero(nodes >= 0)
        first = np.searchsorted(keys, nodes[rows] * self.size)
        many = np.searchsorted(keys, (nodes[rows] + 1) * self.size) - first
        at = np.repeat(first - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
        return np.repeat(rows, many), keys[at] % self.size, self.part(length + 1, at)


def corpus_of(letters: Letters, texts: Sequence[str], longest: int) -> Corpus:
    """Return the beginnings of different strings of these letters, cut at the longest length."""
    codes = np.full((len(texts), longest), letters.end)
    for row, text in zip(codes, texts, strict=True):
        row[: len(text)] = letters.codes(text)
    going, nodes = np.arange(len(texts)), np.zeros(len(texts), np.int64)
    keys: list[Integers] = []
    numbers = [np.array([len(texts)])]
    for letter in codes.T:
        wanted = nodes * letters.size + letter[going]
        unique, nodes, many = np.unique(wanted, return_inverse=True, return_counts=True)
        keys.append(unique)
        numbers.append(many)
        goes_on = letter[going] != letters.end
        going, nodes = going[goes_on], nodes[goes_on]
    return Corpus(texts, letters.size, tuple(keys), tuple(numbers))


@dataclass(frozen=True, eq=False)
class Spelled:
    """What prefixes of one length need to be continued.

    These are their last letters as a number, their beginnings in the corpus, and their
    log-probabilities by letters.
    """

    contexts: Integers
    nodes: Integers
    logs: Floats

    def __getitem__(self, rows: Integers) -> Spelled:
        return Spelled(self.contexts[rows], self.nodes[rows], self.logs[rows])


def joined(parts: Sequence[Spelled]) -> Spelled:
    """Return all prefixes together."""
    return Spelled(
        np.concatenate([part.contexts for part in parts]),
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.logs for part in parts]),
    )


@dataclass(frozen=True, eq=False)
class Prior:
    """A letter model and perhaps a corpus, which a string is from with probability ``weight``.

    ``trained`` are the strings found that the model has learnt from: each is priced without what it
    taught, or it would confirm itself.
    """

    model: LetterModel
    corpus: Corpus | None = None
    weight: float = 0.0
    trained: dict[str, int] = field(default_factory=dict)

    def start(self) -> Spelled:
        """Return the empty prefix."""
        return Spelled(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1))

    def after(self, spelled: Spelled, length: int) -> tuple[Floats, Floats]:
        """Return the log-probability of every next letter, and that by the letters alone."""
        logs = self.model.after(spelled.contexts)
        if self.corpus is None:
            return logs, logs
        joint = math.log1p(-self.weight) + spelled.logs[:, None] + logs
        rows, letters, parts = self.corpus.children(length, spelled.nodes)
        listed = np.log(self.weight * parts)
        joint[rows, letters] = np.logaddexp(joint[rows, letters], listed)
        before = self._of(spelled.logs, self.corpus.part(length, spelled.nodes))
        return _leaving(joint - before[:, None], logs), logs

    def _of(self, logs: Floats, parts: Floats) -> Floats:
        """Return the log-probability of prefixes, from that by letters and from the corpus."""
        listed = np.log(np.maximum(self.weight * parts, 1e-300))
        return np.asarray(np.logaddexp(math.log1p(-self.weight) + logs, listed))

    def follow(self, spelled: Spelled, length: int, letters: Integers, logs: Floats) -> Spelled:
        """Return prefixes of some length with one more letter each, which has this log."""
        nodes = spelled.nodes
        if self.corpus is not None:
            nodes = self.corpus.child(length, nodes, letters)
        contexts = self.model.following(spelled.contexts, letters)
        return Spelled(contexts, nodes, spelled.logs + logs)

    def without_itself(self, text: str) -> Floats:
        """Return the log-probability of each letter of a string that the model has learnt from."""
        seen = self.model.seen
        own = seen.strings == self.trained[text]
        if self.model.order < 0:
            logs = np.full(int(own.sum()), -math.log(seen.letters.size))
        else:
            logs = self._left_out[self.trained[text]]
        if self.corpus is None:
            return logs
        node, out = np.zeros(1, np.int64), []
        for length, letter in enumerate(seen.found[own]):
            node = self.corpus.child(length, node, np.array([letter]))
            sums = np.array([logs[: length + 1].sum()])
            out.append(float(self._of(sums, self.corpus.part(length + 1, node))[0]))
        return _leaving(np.diff(out, prepend=0.0), logs)

    @cached_property
    def _left_out(self) -> dict[int, Floats]:
        """The log-probabilities of the letters of each string that was found."""
        seen, numbers = self.model.seen, np.array(sorted(self.trained.values()))
        logs = seen.left_out(self.model.order, self.model.c, numbers)
        of = seen.strings[np.isin(seen.strings, numbers)]
        return dict(
            zip(numbers.tolist(), np.split(logs, np.flatnonzero(np.diff(of)) + 1), strict=True)
        )


def _leaving(steps: Floats, logs: Floats) -> Floats:
    """Return log-probabilities of letters, if any of them may be one of the letter model's."""
    return np.asarray(np.logaddexp(math.log1p(-LEAVES) + steps, math.log(LEAVES) + logs))


def prior_of(
    letters: Letters,
    longest: int,
    found: Sequence[str] = (),
    corpus: Corpus | None = None,
) -> Prior:
    """Return the prior that is learnt from strings found and from a corpus.

    Whether strings are like those of the corpus, and how many are among them, is learnt from the
    strings found.
    """
    found = list(found)[:MOST_LEARNT]
    if corpus is None:
        alone = learnt(_whole(letters, found, longest))
        return Prior(alone, trained={text: i for i, text in enumerate(found)})
    known, listed = corpus.texts, set(corpus.texts)
    new = [text for text in found if text not in listed]
    seen = _whole(letters, [*known, *new], longest)
    trained = {text: len(known) + i for i, text in enumerate(new)}
    if len(new) < FEWEST:
        step = max(1, len(known) // MOST_SCORED)
        model = learnt(seen, np.arange(0, len(known), step))
    else:
        model = learnt(seen, np.arange(len(known), len(known) + len(new)))
        alone = learnt(_whole(letters, new, longest))
        if _score(alone, range(len(new))) > _score(model, trained.values()):  # the corpus misleads
            model, trained = alone, {text: i for i, text in enumerate(new)}
    weight = (len(found) - len(new) + 1) / (len(found) + 2)
    return Prior(model, corpus, weight, trained)


def _whole(letters: Letters, texts: Sequence[str], longest: int) -> Seen:
    return seen_in(letters, texts, [len(text) < longest for text in texts])


def _score(model: LetterModel, scored: Iterable[int]) -> float:
    """Return how well strings are predicted by a model that has not seen them."""
    numbers = np.fromiter(scored, np.int64)
    if model.order < 0:
        letters = np.isin(model.seen.strings, numbers).sum()
        return -math.log(model.seen.letters.size) * float(letters)
    return float(model.seen.left_out(model.order, model.c, numbers).sum())
