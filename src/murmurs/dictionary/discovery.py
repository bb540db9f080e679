"""Find the strings that enough people hold, in counts of their prefixes, with their shares."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from murmurs.boundary.checks import real, shown, whole
from murmurs.counts import Counts
from murmurs.dictionary.chance import floor_of, people_needed, usual_length
from murmurs.dictionary.letters import Letters
from murmurs.dictionary.search import MOST_BEGINNINGS, Found, Progress, search
from murmurs.dictionary.shares import fit_of
from murmurs.estimation import Estimate
from murmurs.hashing import strings
from murmurs.inference.fit import Target
from murmurs.mechanisms.prefixes import Prefixes
from murmurs.mechanisms.product import OpenProduct, Product
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.question import Question
from murmurs.survey import Survey

Control = Literal["bonferroni", "fdr"]

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789.-_ '"
"""The letters that strings are made of, unless others are given."""

BEAM = 2000
"""Prefixes that are kept at each level."""

RANGES = ("a-z", "A-Z", "0-9")
"""What looks like a range of letters in an alphabet, which has every letter by itself."""

MUCH = 0.25
"""The share of "(other)" from which a note says what may be in it."""


@dataclass(frozen=True, eq=False)
class Discovery:
    """The strings that were found, with their shares, and what the search could have missed.

    With the control "bonferroni", the probability of any false string is at most ``error_rate``;
    with "fdr", the expected part of false ones among those found is.
    """

    labels: tuple[str, ...]
    p_values: Floats
    counts: Counts
    estimate: Estimate | None
    error_rate: float
    control: Control
    tried: int

    @property
    def floor(self) -> float:
        """The share above which a string is nearly always found among so many people.

        It holds for strings of up to three quarters of the longest length.
        """
        return floor_of(self._mechanism, self.counts.n)

    @property
    def _mechanism(self) -> Prefixes:
        return cast(Prefixes, self.counts.mechanism)

    @property
    def missed(self) -> str:
        """What was missed, in a sentence."""
        if self.floor >= 1:
            needed = people_needed(self._mechanism, 0.1)
            return (
                "These are too few reports to be sure of any string. To find one that a tenth of "
                f"the people hold, ask {needed:,} people."
            )
        usual, longest = usual_length(self._mechanism), self._mechanism.lengths[-1]
        letters = "1 letter" if usual == 1 else f"{usual} letters"
        above = floor_of(self._mechanism, self.counts.n, longest)
        long = "" if longest == usual else f" ({_percent(above)} with {longest} letters)"
        needed = people_needed(self._mechanism, self.floor / 2)
        return (
            f"Strings of up to {letters} with a share above {_percent(self.floor)}{long} are "
            "nearly always found; rarer ones may be missing. To find strings of half that share, "
            f"ask {needed:,} people."
        )

    def survey(
        self, name: str, epsilon: float, *, other: str = "(other)", text: str = ""
    ) -> Survey:
        """Return a survey of one closed question with the labels found, for a next round.

        ``other`` is the answer for people whose string is not among them.
        """
        if not self.labels:
            raise ValueError("nothing was found, so there are no labels to ask about")
        return Survey(name, (Question(name, (*self.labels, other), text=text, epsilon=epsilon),))

    @property
    def summary(self) -> str:
        """How many strings were found, how certain that is, and what may be missing."""
        rate = f"{100 * self.error_rate:g} %"
        if self.control == "bonferroni":
            certain = f"at most a {rate} chance that any of them is false"
        else:
            certain = f"at most {rate} of them are false on average"
        if not self.labels:
            return (
                f"No string was found. {self.missed} Strings with letters outside the alphabet are "
                "never found."
            )
        many = "1 string" if len(self.labels) == 1 else f"{len(self.labels)} strings"
        return f"{many} found; {certain}. {self.missed}"

    def to_document(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the strings and their shares as plain values for JSON."""
        estimate = None if self.estimate is None else self.estimate.to_document(level, target)
        return {
            "found": list(self.labels),
            "p_values": self.p_values.tolist(),
            "error_rate": self.error_rate,
            "control": self.control,
            "floor": self.floor,
            "tried": self.tried,
            "estimate": estimate,
        }

    def __str__(self) -> str:
        found = "" if self.estimate is None else f"{self.estimate}\n\n"
        return f"{found}{self.summary}"

    def __repr__(self) -> str:
        first = ", ".join(shown(label) for label in self.labels[:3])
        more = ", ..." if len(self.labels) > 3 else ""
        many = "1 string" if len(self.labels) == 1 else f"{len(self.labels)} strings"
        return f"Discovery({many}{': ' if first else ''}{first}{more})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def discover(
    counts: Counts,
    *,
    alphabet: str = ALPHABET,
    corpus: Iterable[str] = (),
    error_rate: float = 0.05,
    control: Control = "bonferroni",
    beam: int = BEAM,
    progress: Progress | None = None,
) -> Discovery:
    """Find the strings that enough people hold, from counts of `Prefixes`.

    ``alphabet`` are the letters that strings may consist of. If a ``corpus`` of similar strings is
    given, the letter model is learnt from it, otherwise from the prefixes that are found.
    """
    mechanism = _mechanism_of(counts)
    if counts.n == 0:
        raise ValueError("there are no reports to find strings in")
    error_rate = real(error_rate, "error_rate", 1e-12, 0.5)
    if control not in ("bonferroni", "fdr"):
        raise ValueError(f"control must be 'bonferroni' or 'fdr', not {control!r}")
    if isinstance(corpus, str):
        raise TypeError("corpus is a list of strings, not one string")
    letters, learn = letters_of(alphabet), True
    if isinstance(corpus, str):
        raise TypeError("corpus is a list of strings, not one string: corpus=[...]")
    known = [strings.normal(text) for text in corpus]
    if known:
        _learn_from(letters, known)
        learn = False
    else:
        _check_beginnings(letters, mechanism)
    found = search(
        counts,
        mechanism,
        letters,
        beam=whole(beam, "beam", 1, 10**6),
        learn=learn,
        progress=progress,
    )
    accepted = _accepted(found, error_rate, control)
    if not accepted:
        return Discovery((), np.zeros(0), counts, None, error_rate, control, found.tried)
    texts = tuple(found.texts[i] for i in accepted)
    margins = _margins(found, accepted, error_rate, control)
    order = np.argsort(-fit_of(counts, mechanism, texts, margins).unbiased[:-1], kind="stable")
    labels = tuple(texts[i] for i in order.tolist())
    p_values = np.exp(np.minimum(found.log_p[accepted][order], 0.0))
    fit = fit_of(counts, mechanism, labels, margins[order])
    estimate = Estimate(
        fit.counts,
        plausible(fit.unbiased),
        "prefixes",
        "strings were found by their prefixes, and each share comes from the reports that saw the "
        "string whole",
        notes=_notes(labels, mechanism, float(fit.unbiased[-1]), letters),
        fit=fit,
    )
    return Discovery(labels, p_values, counts, estimate, error_rate, control, found.tried)


def _mechanism_of(counts: object) -> Prefixes:
    if not isinstance(counts, Counts):
        raise TypeError(
            f"discover takes Counts, not {type(counts).__name__}: add reports up first, "
            "dictionary.count(reports)"
        )
    if isinstance(counts.mechanism, Product | OpenProduct):
        raise ValueError(
            "these are counts of several questions: give those of the dictionary question alone, "
            "counts.margin(number), numbered from 0"
        )
    if not isinstance(counts.mechanism, Prefixes):
        raise ValueError(
            f"counts of {counts.mechanism} do not hold prefixes to search: ask with "
            "murmurs.Dictionary"
        )
    return counts.mechanism


def letters_of(alphabet: object) -> Letters:
    """Return an empty letter model of an alphabet; refuse what is none."""
    if not isinstance(alphabet, str):
        raise TypeError(f"alphabet is a text of all letters, not {type(alphabet).__name__}")
    if not alphabet:
        raise ValueError("alphabet has no letters")
    for text in RANGES:
        if text in alphabet:
            raise ValueError(f"alphabet has {text!r}: write out every letter, as in {ALPHABET!r}")
    normal = strings.normal(alphabet)
    if len(set(normal)) != len(normal):
        twice = next(letter for letter in normal if normal.count(letter) > 1)
        raise ValueError(f"alphabet has the letter {shown(twice)} twice")
    return Letters(normal)


def _check_beginnings(letters: Letters, mechanism: Prefixes) -> None:
    many, first = len(letters.alphabet), mechanism.lengths[0]
    if many ** (first - 1) * (many + 1) > MOST_BEGINNINGS:
        raise ValueError(
            f"an alphabet of {many} letters has {many**first:,} beginnings of {first} letters, and "
            f"at most {MOST_BEGINNINGS:,} can be tried: leave letters out, give a corpus of "
            "similar strings, or ask with a Dictionary of this alphabet, which begins with fewer "
            f"letters (letters = {many} in a survey)"
        )


def _learn_from(letters: Letters, corpus: list[str]) -> None:
    known = set(letters.alphabet)
    usable = [text for text in corpus if known.issuperset(text)]
    if not usable:
        raise ValueError(
            f"none of the {len(corpus)} strings of the corpus consists of letters of the alphabet "
            f"{shown(letters.alphabet)}"
        )
    letters.learn(usable, [True] * len(usable), np.ones(len(usable)))


def _accepted(found: Found, error_rate: float, control: Control) -> list[int]:
    """Return the strings to accept, by adjusted p-values."""
    if control == "bonferroni":
        return np.flatnonzero(found.log_p < math.log(error_rate)).tolist()
    order = np.argsort(found.log_p, kind="stable")
    limits = np.log(error_rate * np.arange(1, len(order) + 1))
    below = np.flatnonzero(found.log_p[order] <= limits)
    return order[: below[-1] + 1].tolist() if len(below) else []


def _margins(found: Found, accepted: list[int], error_rate: float, control: Control) -> Floats:
    """Return by how many standard errors the accepted strings passed."""
    limit = error_rate if control == "bonferroni" else error_rate * len(accepted)
    return found.margins(math.log(limit))[accepted]


def _notes(
    labels: tuple[str, ...], mechanism: Prefixes, other: float, letters: Letters
) -> tuple[str, ...]:
    notes = []
    longest = mechanism.lengths[-1]
    cut = sum(len(label) == longest for label in labels)
    if cut:
        what = "1 string has" if cut == 1 else f"{cut} strings have"
        notes.append(f"{what} {longest} letters, the most that were asked for, and may go on")
    if other > MUCH:
        notes.append(
            "the strings in (other) are too rare to be found, or have letters outside the alphabet "
            + shown(letters.alphabet, 100)
        )
    return tuple(notes)
