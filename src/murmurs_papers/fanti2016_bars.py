"""Fanti, Pihur and Erlingsson (2016), figures 8 and 12: strings with and without a list."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.numerics.arrays import Floats
from murmurs.present.palette import SERIES
from murmurs.questions.dictionary.ngrams.pairs import delta
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.fanti2016_ngrams import (
    EPSILON,
    HOST_LETTERS,
    HOSTS,
    LONGEST,
    ONE_REPORT,
    PEOPLE,
    RIGHT_Q,
    SPLIT_Q,
    Learnt,
    bloom,
    bloom_grams,
    calibrated,
    learn_by_grams,
    learn_by_prefixes,
    learn_from_list,
    q_of_the_paper,
)
from murmurs_papers.fanti2016_strings import HIGH, LETTERS, MOST, POWER, law_of, texts_of
from murmurs_papers.findings import Finding, claim, number
from murmurs_papers.ours import ours, quotient

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RANDOM, URLS = "random strings", "host names"
LISTED = "list, q = 0.75"
SPLIT = "list, q = 0.32"
RIGHT = "list, q = 0.4095"
GRAMS = "n-grams, as published"
NOISE = "n-grams, q = 0.32, edges within noise"
CORRECTED = "n-grams, q = 0.4095, edges within noise"
BEST = "n-grams by O-RR, edges within noise"
TRIGRAMS = "trigrams, as published"
PREFIXES = "prefixes"
SETTINGS: dict[str, tuple[str, ...]] = {
    RANDOM: (LISTED, GRAMS, PREFIXES),
    URLS: (LISTED, SPLIT, RIGHT, GRAMS, NOISE, CORRECTED, BEST, TRIGRAMS, PREFIXES),
}
WITH_LIST = (LISTED, SPLIT, RIGHT)
LIST_TIMES: dict[Scale, int] = {"full": 50, "quick": 10, "tiny": 2}
GRAM_TIMES: dict[Scale, dict[str, int]] = {
    "full": {RANDOM: 20, URLS: 10},
    "quick": {RANDOM: 6, URLS: 1},
    "tiny": {RANDOM: 1, URLS: 1},
}
PREFIX_TIMES: dict[Scale, int] = {"full": 5, "quick": 1, "tiny": 1}
SHOWN = 20
"""The most common strings, which are drawn."""

COHORTS = 16


def cells(scale: Scale) -> list[Cell]:
    """Return both lists of strings in all settings."""

    def times(strings: str, setting: str) -> int:
        if setting in WITH_LIST:
            return LIST_TIMES[scale]
        return PREFIX_TIMES[scale] if setting == PREFIXES else GRAM_TIMES[scale][strings]

    return [
        Cell({"strings": strings, "setting": setting}, times(strings, setting))
        for strings, settings in SETTINGS.items()
        for setting in settings
        if scale != "tiny" or setting in (LISTED, SPLIT, GRAMS)
    ]


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return how many strings are found, and the shares of the most common ones."""
    values = {name: np.zeros(cell.repetitions) for name in ("true", "false", "tested", "threshold")}
    shares = np.zeros((SHOWN, cell.repetitions))
    grams = np.zeros((10, cell.repetitions))
    for time in range(cell.repetitions):
        if cell["strings"] == RANDOM:
            law, people = law_of(POWER, 100), MOST
            texts = texts_of(100, 6, rng)
        else:
            law, people, texts = calibrated(), PEOPLE, HOSTS
        learnt = _learnt(cell, texts, law, people, rng)
        true = learnt.true(texts)
        values["true"][time], values["false"][time] = true, len(learnt.shares) - true
        if learnt.by is not None:
            values["tested"][time], values["threshold"][time] = learnt.by.tried, learnt.by.threshold
            grams[: len(learnt.by.grams), time] = [len(own) for own in learnt.by.grams]
        shares[:, time] = [learnt.shares.get(text, 0.0) for text in texts[:SHOWN]]
    values |= {f"share {i + 1}": own for i, own in enumerate(shares)}
    values |= {f"grams {i + 1}": own for i, own in enumerate(grams)}
    return [Series({}, values)]


def _learnt(
    cell: Cell, texts: list[str], law: Floats, people: int, rng: np.random.Generator
) -> Learnt:
    setting = cell.text("setting")
    is_random = cell["strings"] == RANDOM
    letters = LETTERS if is_random else HOST_LETTERS
    longest = 6 if is_random else LONGEST
    counts = rng.multinomial(people, law)
    if setting == PREFIXES:
        return learn_by_prefixes(HIGH if is_random else EPSILON, texts, counts, letters, rng)
    if setting in WITH_LIST:
        q = {LISTED: ONE_REPORT, SPLIT: SPLIT_Q, RIGHT: RIGHT_Q}[setting]
        return learn_from_list(bloom(q, COHORTS), texts, counts, rng)
    if setting == BEST:
        asked = NGrams.splitting(EPSILON, longest=longest)
    elif is_random:
        asked = bloom_grams(q_of_the_paper(HIGH), longest, cohorts=COHORTS)
    else:
        q = RIGHT_Q if setting == CORRECTED else SPLIT_Q
        asked = bloom_grams(q, longest, 3 if setting == TRIGRAMS else 2, COHORTS)
    multiple = 1.0 if setting in (GRAMS, TRIGRAMS) else None
    return learn_by_grams(asked, texts, counts, letters, rng, multiple=multiple)


GRID = Grid("fanti2016-bars", cells, measure)


def _counted(
    rows: Table,
    strings: str,
    setting: str,
    published: float,
    what: str,
    why: str = "",
    others: Mapping[str, str] | None = None,
) -> Finding:
    """Compare a number of strings found, of which the paper has one run, beside other settings."""
    own = rows.one(strings=strings, setting=setting)
    many = own.mean("true")
    # Whether a string is found is nearly independent of the others: a Poisson bound on one run.
    single = max(float(own.values["true"].std()), 0.5 * float(np.sqrt(max(many, 1.0))))
    beside = {
        name: rows.one(strings=strings, setting=other).mean("true")
        for name, other in (others or {}).items()
        if len(rows.where(strings=strings, setting=other))
    }
    return number(
        what,
        published,
        many,
        own.error("true"),
        published_error=single,
        decimals=0,
        why=why,
        beside=beside,
    )


CHOSEN = " (the shares are chosen for it)"


def judge_figure8(rows: Table) -> list[Finding]:
    """Compare the numbers of strings found with and without a list."""
    found = [
        _counted(rows, RANDOM, LISTED, 17.0, f"strings found with a list{CHOSEN}"),
        _counted(rows, RANDOM, GRAMS, 7.0, "strings found without a list"),
    ]
    own = rows.one(strings=RANDOM, setting=GRAMS)
    law = law_of(POWER, 100)
    first = own.mean("share 1")
    found.append(
        claim(
            "most frequent string",
            "its frequency is estimated correctly without a list",
            f"{first:.3f} ± {own.error('share 1'):.3f}, the truth is {law[0]:.3f}",
            abs(first - law[0]) < 4 * max(own.error("share 1"), 0.003),
        )
    )
    found.append(
        claim(
            "privacy of a report with q = 0.75 and p = 0.25",
            "epsilon = 9",
            f"2 ln 9 = {EPSILON:.2f} with two hashes; 9 is about 4 ln 9",
            False,
            why="Two strings differ in at most 2 h = 4 bits, each with a ratio of 3: the logarithm "
            "of 81 is 4.39, as section 5.2 has it. With 9, each bit would have a ratio of 9.",
        )
    )
    found += _beside(rows, RANDOM)
    return found


def _beside(rows: Table, strings: str) -> list[Finding]:
    """Say how many strings prefixes find at the epsilon that the paper states."""
    prefixes = rows.where(strings=strings, setting=PREFIXES)
    if not len(prefixes):
        return []
    theirs = rows.one(strings=strings, setting=GRAMS)
    [own] = prefixes
    ratio = quotient(*(x for s in (theirs, own) for x in (s.mean("true"), s.error("true"))))
    return [
        ours(
            "prefixes, our default, at the stated epsilon",
            f"the published method, which finds {theirs.mean('true'):.1f} strings and "
            f"{theirs.mean('false'):.1f} false ones",
            f"prefixes find {own.mean('true'):.1f} strings and {own.mean('false'):.1f} false ones",
            [ratio],
        )
    ]


SIGNIFICANT = (4, 2, 2, 3, 4, 5, 2, 1, 1, 1)
"""The bigrams that the paper found at each position."""


def judge_figure12(rows: Table) -> list[Finding]:
    """Compare the numbers of strings, candidates and bigrams, and the threshold."""
    grams = rows.one(strings=URLS, setting=GRAMS)
    found = [
        _counted(rows, URLS, LISTED, 75.0, f"strings found with a list, q = 0.75{CHOSEN}"),
        _counted(rows, URLS, SPLIT, 23.0, f"strings found with a list, q = 0.32{CHOSEN}"),
    ]
    right = rows.where(strings=URLS, setting=RIGHT)
    if len(right):
        found.append(
            number(
                "strings found with a list, a third of epsilon",
                23.0,
                right.series[0].mean("true"),
                right.series[0].error("true"),
                published_error=2.5,
                decimals=0,
                why=WHY_Q,
            )
        )
    found += [
        number(
            "threshold of joint shares, equation 2",
            0.0062,
            delta(bloom_grams(SPLIT_Q, LONGEST, cohorts=COHORTS), PEOPLE, as_printed=True),
            0.0,
            decimals=4,
            why=WHY_SQUARE,
            beside={"with its square": grams.mean("threshold")},
        ),
        _counted(
            rows,
            URLS,
            GRAMS,
            5.0,
            "strings found without a list",
            WHY_EDGES,
            {
                "edges within noise": NOISE,
                "and q = 0.4095": CORRECTED,
                "and O-RR": BEST,
                "prefixes": PREFIXES,
            },
        ),
    ]
    seen = [grams.mean(f"grams {i + 1}") for i in range(10)]
    found.append(
        claim(
            "significant bigrams at the ten positions",
            ", ".join(map(str, SIGNIFICANT)),
            ", ".join(f"{x:.3g}" for x in seen),
            abs(sum(seen) - sum(SIGNIFICANT)) < 6,
            why="The host names are not those of the paper, so that other bigrams are common.",
        )
    )
    three = rows.where(strings=URLS, setting=TRIGRAMS)
    if len(three):
        found.append(
            _counted(rows, URLS, TRIGRAMS, 2.0, "strings found without a list, trigrams", WHY_EDGES)
        )
        tested = grams.mean("tested"), three.series[0].mean("tested")
        found.append(
            claim(
                "candidates, and false strings",
                "896 candidates with bigrams and 185 with trigrams; 1 and 0 false strings",
                f"{tested[0]:.0f} and {tested[1]:.0f} candidates; {grams.mean('false'):.1f} and "
                f"{three.series[0].mean('false'):.1f} false strings",
                all(
                    paper / 2 < own < 2 * paper
                    for paper, own in zip((896, 185), tested, strict=True)
                ),
                why=WHY_EDGES,
            )
        )
    return [*found, *_beside(rows, URLS)]


WHY_Q = (
    "A third of 4.39 is 1.46, and that is q = 0.4095 with p = 0.25 and two hashes. The q = 0.32 of "
    "the paper spends 0.69 for each report, 2.07 in all: less than half of the budget."
)
WHY_SQUARE = (
    "Equation 2 lacks a square: sqrt(p2 (1 - p2) / N) / (q2 - p2) gives the printed 0.0062. This "
    "must be what was used, and it is used here."
)
WHY_EDGES = (
    "The threshold is for N reports, but each of the 45 pairs of positions has N / 45 of them, and "
    "the noise of two reports multiplies: joint shares have a standard error several times the "
    "threshold. So about half of the edges of a true string are lost, and it needs all 45. The "
    "strings of the paper and their shares are not public; a few with large shares would pass."
)
LABELS = {
    RANDOM: ("true", LISTED, GRAMS),
    URLS: ("true", LISTED, SPLIT, GRAMS, CORRECTED, PREFIXES),
}


def draw(rows: Table, figure: Figure, strings: str) -> None:
    """Draw the shares of the most common strings, and those that were found, beside each other."""
    axes = figure.subplots()
    law = law_of(POWER, 100) if strings == RANDOM else calibrated()
    shown = [
        name
        for name in LABELS[strings]
        if name == "true" or len(rows.where(strings=strings, setting=name))
    ]
    x, wide = np.arange(SHOWN), 0.8 / len(shown)
    for place, name in enumerate(shown):
        if name == "true":
            heights = law[:SHOWN]
        else:
            own = rows.one(strings=strings, setting=name)
            heights = np.array([own.values[f"share {i + 1}"][0] for i in range(SHOWN)])
        at = x + (place - (len(shown) - 1) / 2) * wide
        axes.bar(at, heights, wide, color=SERIES[place][0], label=name)
    if strings == URLS:
        axes.set_xticks(x, HOSTS[:SHOWN], rotation=90, fontsize=7)
    else:
        axes.set_xticks(x, [str(i + 1) for i in x])
        axes.set_xlabel("string, by rank")
    axes.set_ylabel("share; no bar: not found")
    axes.legend(frameon=False, fontsize=8)
    people = MOST if strings == RANDOM else PEOPLE
    tidy(axes, f"the {SHOWN} most common of 100 strings, one run, {people:,} people")


EXPERIMENTS = (
    Experiment(
        "fanti2016-figure8",
        "Figure 8: random strings found with and without a list",
        GRID,
        judge_figure8,
        partial(draw, strings=RANDOM),
        "100 random strings of 6 letters, 100,000 people. With a list, reports have q = 0.75; "
        "without, the strings and two bigrams share the budget. The shares are proportional to "
        "(r + 14)^-5, chosen such that 17 strings are found with a list; the number without a list "
        "then follows.",
        wanted=lambda cell: cell["strings"] == RANDOM,
        size=(9.0, 4.5),
    ),
    Experiment(
        "fanti2016-figure12",
        "Figure 12: host names found with and without a list, a million people, epsilon = 4.39",
        GRID,
        judge_figure12,
        partial(draw, strings=URLS),
        "The URLs of the paper are not public. Here are 100 host names of up to 20 letters with "
        "shares proportional to r^-0.3 0.97^r, chosen such that RAPPOR with a list finds as many "
        "strings as in the paper, both with q = 0.75 and with q = 0.32; the numbers without a list "
        "then follow.",
        wanted=lambda cell: cell["strings"] == URLS,
        size=(9.5, 5.5),
    ),
)
