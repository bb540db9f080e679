"""Several passes of the search: what one finds tells the next which letters are likely.

The first pass is narrow and finds the strings that most people hold. The letters are learnt from
them, a wide pass follows, and another with the letters of what that one found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from murmurs.counts import Counts
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.questions.dictionary.letters import Letters
from murmurs.questions.dictionary.prior import corpus_of, prior_of
from murmurs.questions.dictionary.search import Breadth, Found, Progress, search

BEAM = 10_000
"""Prefixes that are kept at each level in the last pass."""

PASSES = (0.2, 0.5, 1.0)
"""The part of the beam that is kept in each pass."""

TRIED = 20
"""Prefixes that are tried at each level, for each that is kept."""

UNSEEN = 2
"""There are so many times the strings that were found, at the least: others are too rare."""

SURE = math.log(0.05)
"""The adjusted p-value below which letters are learnt from a string."""


def searched(
    counts: Counts,
    mechanism: Prefixes,
    letters: Letters,
    known: Sequence[str] = (),
    beam: int = BEAM,
    progress: Progress | None = None,
) -> Found:
    """Return what the last pass found; ``known`` are the different strings of a corpus."""
    levels = [mechanism.at_level(counts, i) for i in range(len(mechanism.levels))]
    steps, done = len(PASSES) * len(levels), 0
    strong: list[tuple[str, ...]] = [()] * len(levels)

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    corpus = corpus_of(letters, known, mechanism.longest) if known else None
    prior, sure = prior_of(letters, mechanism.longest, corpus=corpus), 1
    for number, part in enumerate(PASSES, 1):
        kept = math.ceil(part * beam)
        found = search(
            levels,
            mechanism.lengths,
            letters,
            prior,
            Breadth(kept, TRIED * kept),
            sure=sure,
            learn=number == 1 and not known,
            strong=strong,
            progress=step,
        )
        if number < len(PASSES):
            passed = np.flatnonzero(found.log_p < SURE)
            passed = passed[np.argsort(-found.later[passed, 0], kind="stable")]
            sure = max(1, UNSEEN * len(passed))
            texts = [found.texts[i] for i in passed]
            prior = prior_of(letters, mechanism.longest, texts, corpus)
    return found
