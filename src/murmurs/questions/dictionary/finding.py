"""Find the strings that enough people hold, in counts of their prefixes or n-grams."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np

from murmurs.boundary.checks import real, shown, whole
from murmurs.boundary.texts import numbered
from murmurs.counts import Counts
from murmurs.estimators import estimate
from murmurs.estimators.estimation import Estimate
from murmurs.hashing import strings
from murmurs.inference.detection import Control
from murmurs.mechanisms.products.closed import Product
from murmurs.mechanisms.products.open import OpenProduct
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.mechanisms.strings.over_ngrams import OverNGrams
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import plausible
from murmurs.questions.dictionary.discovery import Discovery
from murmurs.questions.dictionary.letters import ALPHABET, Letters, letters_of
from murmurs.questions.dictionary.ngrams.strings import FoundByNGrams, search_ngrams
from murmurs.questions.dictionary.passes import BEAM, searched
from murmurs.questions.dictionary.power import Searched
from murmurs.questions.dictionary.search import MOST_BEGINNINGS, Found, Progress
from murmurs.questions.dictionary.shares import fit_of

CAUTION = 0.5
"""The part of the rate of false discoveries that p-values of prefixes are held to.

The letter model has learnt from the same counts, so far from certainty false strings are more than
their p-values say. With this part, simulated surveys of five kinds of strings kept to the rate.
"""

MUCH = 0.25
"""The share of "(other)" from which a note says what may be in it."""


def discover(
    counts: Counts,
    *,
    alphabet: str = ALPHABET,
    corpus: Iterable[str] = (),
    error_rate: float = 0.05,
    control: Control = "bonferroni",
    beam: int | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the strings that enough people hold, from counts of `Prefixes` or `NGrams`.

    ``alphabet`` are the letters that strings may consist of. The rest is for prefixes: if a
    ``corpus`` of similar strings is given, its strings and others with similar letters are more
    likely beforehand; ``beam`` prefixes (10,000 by default) are kept at each level, twice as many
    at the first ones.
    """
    mechanism = _mechanism_of(counts)
    if counts.n == 0:
        raise ValueError("there are no reports to find strings in")
    error_rate = real(error_rate, "error_rate", 1e-12, 0.5)
    if control not in ("bonferroni", "fdr"):
        raise ValueError(f"control must be 'bonferroni' or 'fdr', not {control!r}")
    letters, known = letters_of(alphabet), _listed(corpus)
    if isinstance(mechanism, NGrams):
        for given, name in ((known, "corpus"), (beam, "beam")):
            if given:
                raise ValueError(f"a {name} is for prefixes; n-grams have none: leave it out")
        by_ngrams = search_ngrams(
            counts,
            mechanism,
            letters.alphabet,
            error_rate=error_rate,
            control=control,
            progress=progress,
        )
        notes = () if by_ngrams.all_tested else (_NOT_ALL.format(f"{by_ngrams.tried:,}"),)
        return _accept(counts, mechanism, letters, by_ngrams, error_rate, control, notes)
    usable, left_out = _usable(letters, known, mechanism.longest) if known else ([], ())
    if not usable:
        _check_beginnings(letters, mechanism)
    kept = whole(BEAM if beam is None else beam, "beam", 1, 10**6)
    found = searched(counts, mechanism, letters, usable, kept, progress)
    accepted = _accept(counts, mechanism, letters, found, error_rate, control, left_out)
    return dataclasses.replace(accepted, listed=len(usable))


_NOT_ALL = (
    "n-grams go together in more ways than can be tested: only the {} with the best evidence were"
)


def _accept(
    counts: Counts,
    mechanism: Searched,
    letters: Letters,
    found: Found | FoundByNGrams,
    error_rate: float,
    control: Control,
    notes: tuple[str, ...],
) -> Discovery:
    """Return the strings that pass, the most common first, with their shares."""
    accepted = _accepted(found, error_rate, control)
    if not accepted:
        never = f"strings with letters outside the alphabet {_quoted(letters)} are never found"
        return Discovery(
            (),
            np.zeros(0),
            counts,
            mechanism,
            None,
            error_rate,
            control,
            found.tried,
            (*notes, never),
        )
    texts = tuple(found.texts[i] for i in accepted)
    margins = _margins(found, accepted, error_rate, control)
    shares = _shares_of(counts, mechanism, texts, margins)
    order = np.argsort(-shares.unbiased[: len(texts)], kind="stable")
    labels = tuple(texts[i] for i in order.tolist())
    p_values = np.exp(np.minimum(found.log_p[accepted][order], 0.0))
    shares = _shares_of(counts, mechanism, labels, margins[order])
    told = (*notes, *_notes(labels, mechanism, float(shares.unbiased[-1]), letters))
    return Discovery(
        labels,
        p_values,
        counts,
        mechanism,
        dataclasses.replace(shares, notes=(*told, *shares.notes)),
        error_rate,
        control,
        found.tried,
        told,
    )


def _shares_of(
    counts: Counts, mechanism: Searched, labels: tuple[str, ...], margins: Floats
) -> Estimate:
    """Return the shares of strings, from the reports that saw them whole."""
    if isinstance(mechanism, NGrams):
        return estimate(mechanism.whole_counts(counts).over(labels))
    fit = fit_of(counts, mechanism, labels, margins)
    return Estimate(
        fit.counts,
        plausible(fit.unbiased),
        "prefixes",
        "strings were found by their prefixes, and each share comes from the reports that saw the "
        "string whole",
        fit=fit,
    )


def _mechanism_of(counts: object) -> Searched:
    if not isinstance(counts, Counts):
        raise TypeError(
            f"discover takes Counts, not {type(counts).__name__}: add reports up first, "
            "dictionary.count(reports)"
        )
    mechanism = counts.mechanism
    if isinstance(mechanism, Product | OpenProduct):
        raise ValueError(
            "these are counts of several questions: give those of the dictionary question alone, "
            "counts.margin(number), numbered from 0"
        )
    if isinstance(mechanism, OverNGrams):
        mechanism = mechanism.mechanism
    if not isinstance(mechanism, Prefixes | NGrams):
        raise ValueError(
            f"counts of {counts.mechanism} do not hold prefixes or n-grams to search: ask with "
            "murmurs.Dictionary"
        )
    return mechanism


def _check_beginnings(letters: Letters, mechanism: Prefixes) -> None:
    many, first = len(letters.alphabet), mechanism.lengths[0]
    if many ** (first - 1) * (many + 1) > MOST_BEGINNINGS:
        raise ValueError(
            f"an alphabet of {many} letters has {many**first:,} beginnings of {first} letters, and "
            f"at most {MOST_BEGINNINGS:,} can be tried: leave letters out, give a corpus of "
            "similar strings, or ask with a Dictionary of this alphabet, which begins with fewer "
            f"letters (letters = {many} in a survey)"
        )


def _listed(corpus: object) -> list[str]:
    """Return the strings of a corpus in normal form; nobody's answer is in it, so errors quote."""
    if isinstance(corpus, str | bytes):
        raise TypeError("corpus is a list of strings, not one string: corpus=[...]")
    if not isinstance(corpus, Iterable):
        raise TypeError(f"corpus is a list of strings, not {shown(corpus)}: corpus=[...]")
    out = []
    for number, text in enumerate(corpus):
        why = strings.why_refused(text)
        if why:
            raise (ValueError if isinstance(text, str) else TypeError)(
                f"corpus has strings, but number {number} is none: {why}; leave it out"
            )
        out.append(strings.normal(text))
    return out


def _usable(letters: Letters, corpus: list[str], longest: int) -> tuple[list[str], tuple[str, ...]]:
    """Return the different strings of a corpus that can be found, and a note on all others.

    They are cut at the longest length.
    """
    covered = [text for text in corpus if letters.covers(text)]
    if not covered:
        raise ValueError(
            "none of the strings of the corpus has only letters of the alphabet "
            f"{_quoted(letters)}: give an alphabet with all of their letters"
        )
    usable = list(dict.fromkeys(text[:longest] for text in covered))
    left_out = len(corpus) - len(covered)
    if not left_out:
        return usable, ()
    have = "has" if left_out == 1 else "have"
    return usable, (
        f"{left_out:,} of the {numbered(len(corpus), 'string')} of the corpus {have} letters "
        "outside the alphabet, and cannot be found",
    )


def _accepted(found: Found | FoundByNGrams, error_rate: float, control: Control) -> list[int]:
    """Return the strings to accept, by adjusted p-values."""
    if control == "bonferroni":
        return np.flatnonzero(found.log_p < math.log(error_rate)).tolist()
    held = found.cautious if isinstance(found, Found) else found
    order = np.argsort(held.log_p, kind="stable")
    limits = _log_limits(found, np.arange(1, len(order) + 1), error_rate)
    below = np.flatnonzero(held.log_p[order] <= limits)
    several = order[: below[-1] + 1].tolist() if len(below) else []
    return sorted({*several, *_accepted(found, error_rate, "bonferroni")})


def _margins(
    found: Found | FoundByNGrams, accepted: list[int], error_rate: float, control: Control
) -> Floats:
    """Return by how many standard errors the accepted strings passed; n-grams have no such rule."""
    if isinstance(found, FoundByNGrams):
        return np.full(len(accepted), np.inf)
    margins = found.margins(math.log(error_rate))[accepted]
    if control == "fdr":
        limit = float(_log_limits(found, np.array(len(accepted)), error_rate))
        margins = np.maximum(margins, found.cautious.margins(limit)[accepted])
    return margins


def _log_limits(found: Found | FoundByNGrams, number: Integers, error_rate: float) -> Floats:
    """Return what adjusted p-values may be at most if so many strings are accepted by "fdr"."""
    part = CAUTION if isinstance(found, Found) else 1.0
    return np.asarray(np.log(error_rate * np.maximum(part * number, 1)))


def _notes(
    labels: tuple[str, ...], mechanism: Searched, other: float, letters: Letters
) -> tuple[str, ...]:
    notes = []
    longest = mechanism.longest
    cut = sum(len(label) == longest for label in labels)
    if cut:
        what = "1 string has" if cut == 1 else f"{cut} strings have"
        notes.append(f"{what} {longest} letters, the most that were asked for, and may go on")
    if other > MUCH:
        notes.append(
            "the strings in (other) are too rare to be found, or have letters outside the alphabet "
            + _quoted(letters)
        )
    return tuple(notes)


def _quoted(letters: Letters) -> str:
    return shown(letters.alphabet, 100)
