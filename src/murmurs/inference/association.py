"""Tests whether the answers to two questions go together, from counts of a product of mechanisms.

The default is the score test (`murmurs.inference.scores`): how the reports vary together, compared
with the noise that independent answers would have. Where few reports are expected in a cell, the
same statistic is ranked among permutations (`murmurs.inference.permutation`) or, if the counts do
not say what these would give, among simulations (`murmurs.inference.bootstrap`).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, shown, whole
from murmurs.channels.axes import Axis
from murmurs.channels.product import ProductChannel
from murmurs.counts import Counts
from murmurs.inference.bootstrap import (
    MOST_COMBINATIONS,
    MOST_PEOPLE,
    can_draw,
    independent,
    simulated_p_value,
)
from murmurs.inference.fitting import fitted
from murmurs.inference.permutation import can_permute_tables, from_reports, from_table
from murmurs.inference.scores import Scores
from murmurs.inference.wald import distinct, wald_statistic
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import chi_square_tail
from murmurs.present.layout import fold
from murmurs.present.text import p_text

Test = Literal["score", "pearson", "wald", "permutation", "bootstrap"]
"""The tests of association, see `association`."""

FEW, VERY_FEW, FEW_PART = 5.0, 1.0, 0.2
"""Cochran's rule (1954): a fifth of the cells may be expected below 5 reports, none below 1."""

ASKED_FOR = "it was asked for by name"
_ENOUGH = "enough reports are expected in the cells"
_SMALL = "few reports are expected in some cells"
LEVEL = 0.05
"""The p-value up to which `Association.sentence` says that answers go together."""


class _Part(Protocol):
    @property
    def ratio(self) -> Fraction: ...


class _Placing(Protocol):
    """What tests on single reports need from the product of mechanisms."""

    @property
    def parts(self) -> tuple[_Part, ...]: ...

    def placed(self, reports: object) -> tuple[Integers | None, list[NDArray[Any]]]: ...

    def count(self, reports: object) -> Counts: ...


@dataclass(frozen=True)
class Association:
    """A test whether the answers to two questions go together.

    ``p_value`` is the probability of a statistic this large if they do not. ``freedom`` are the
    degrees of freedom. ``permutations`` says from how many, or from how many simulated counts, the
    p-value comes; None if it comes from a distribution. ``why`` says why this test was used.
    """

    questions: tuple[int, int]
    n: int
    test: Test
    why: str
    statistic: float
    freedom: int
    p_value: float
    permutations: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def stands_out(self) -> bool:
        """Whether the p-value is at most 0.05."""
        return self.p_value <= LEVEL

    @property
    def sentence(self) -> str:
        """What the test says, in one sentence."""
        said = "The answers go together" if self.stands_out else "No association stands out"
        equals = "" if self.p_value < 1e-6 else "= "
        return f"{said}: p {equals}{p_text(self.p_value)} ({self._test})."

    @property
    def _test(self) -> str:
        if self.test == "permutation":
            if self.permutations is None:
                return "exact permutation test"
            return f"permutation test, {self.permutations:,} permutations"
        if self.test == "bootstrap":
            return f"simulation of independent answers, {self.permutations:,} draws"
        name = {"score": "score test", "pearson": "Pearson's test", "wald": "Wald test"}[self.test]
        return f"{name}, {self.freedom} degree{'' if self.freedom == 1 else 's'} of freedom"

    def to_document(self) -> dict[str, Any]:
        """Return the test as plain values for JSON."""
        return {
            "questions": list(self.questions),
            "n": self.n,
            "test": self.test,
            "why": self.why,
            "statistic": self.statistic,
            "freedom": self.freedom,
            "p_value": self.p_value,
            "permutations": self.permutations,
            "notes": list(self.notes),
            "sentence": self.sentence,
        }

    def __str__(self) -> str:
        lines = [self.sentence, f"Test: {self.test}, because {self.why}."]
        return fold("\n".join([*lines, *(f"Note: {note}." for note in self.notes)]))


def association(
    counts: Counts,
    *,
    questions: Sequence[int] = (0, 1),
    test: Test | None = None,
    reports: object = None,
    permutations: int = 1999,
    random: np.random.Generator | None = None,
) -> Association:
    """Test whether the answers to two questions go together.

    ``counts`` are those of a `Product`, two of whose ``questions`` are tested. The tests are:

    - ``"score"``: the cross-covariances of the reports, with chi-square p-values. The default.
    - ``"permutation"``: the same statistic, ranked among random pairings of the reports. Exact for
      any number of people. The default where few reports are expected in a cell: more than a fifth
      of the cells below 5, or one below 1. It works on counts if every report counts in one cell,
      as with `KRR`; otherwise it needs the ``reports`` themselves.
    - ``"bootstrap"``: the same statistic, ranked among those of counts that are simulated with
      independent answers and the estimated margins. The default where few reports are expected and
      permutations would need the reports.
    - ``"pearson"``: Pearson's test of the table of reports. For two `KRR` it equals the score test.
    - ``"wald"``: the test of Fanti et al. (2016), for comparison; it rejects too rarely.

    Without ``random``, permutations are drawn from the counts as a seed: the same counts always
    have the same p-value. P-values of all tests except permutation and bootstrap need SciPy.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=3, epsilon=1.0), mm.KRR(k=3, epsilon=1.0)])
    >>> counts = both.simulate([2000, 500, 500] * 2 + [500, 500, 2000], np.random.default_rng(1))
    >>> print(association(counts))
    The answers go together: p < 1e-6 (score test, 4 degrees of freedom).
    Test: score, because enough reports are expected in the cells.
    """
    if test is not None and test not in get_args(Test):
        raise ValueError(f"test must be one of {', '.join(get_args(Test))}, not {shown(test)}")
    permutations = whole(permutations, "permutations", 1, 10**7)
    if random is not None and not isinstance(random, np.random.Generator):
        raise TypeError(f"random must be numpy.random.default_rng(seed), not {shown(random)}")
    pair = the_pair(counts, questions)
    given = None if reports is None else _places(counts, reports, pair)
    own = counts.margin(*pair)
    scores = Scores(own)
    can_simulate = can_draw(own, math.prod(scores.channel.answers))
    chosen, why, notes = _choice(scores, test, given is not None, can_simulate)
    if chosen == "permutation":
        rng = np.random.default_rng(zlib.crc32(own.cells.tobytes())) if random is None else random
        if can_permute_tables(scores):
            p_value, drawn = from_table(scores, permutations, rng)
        elif given is not None:
            p_value, drawn = from_reports(scores, *given, permutations, rng)
        else:
            raise ValueError(
                f"counts of {own.mechanism} do not say what permuted reports would give: pass the "
                'reports themselves, reports=..., or use test="score"'
            )
        statistic, freedom = scores.statistic, scores.freedom
    elif chosen == "bootstrap":
        if not can_simulate:
            raise ValueError(
                f"{math.prod(scores.channel.answers)} combinations of answers and {own.n} reports "
                f"are too many to simulate, at most {MOST_COMBINATIONS} and {MOST_PEOPLE}, one "
                'from each person: use test="score"'
            )
        left, right = (plausible(fitted(counts.margin(q)).unbiased) for q in pair)
        law = independent(left, right, counts.n)
        statistic, freedom = scores.statistic, scores.freedom
        p_value, drawn = simulated_p_value(
            own, law, lambda counts: Scores(counts).statistic, statistic
        )
    else:
        if chosen == "score":
            statistic, freedom = scores.statistic, scores.freedom
        elif chosen == "pearson":
            statistic, freedom = _pearson(scores)
        else:
            statistic, freedom, more = _wald(counts, scores, pair, given)
            notes += more
        p_value = chi_square_tail(statistic, freedom) if freedom else 1.0
        drawn = None
    if freedom == 0:
        notes += ("all reports to one of the questions are alike, so nothing can go with them",)
    return Association(pair, counts.n, chosen, why, statistic, freedom, p_value, drawn, notes)


def the_pair(counts: object, questions: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of two questions in order, if the counts are a table that has them."""
    if not isinstance(counts, Counts):
        raise TypeError(
            f"a joint table is given as Counts of a Product, not {type(counts).__name__}: add the "
            "reports up first, product.count(reports)"
        )
    if not isinstance(counts.channel, ProductChannel):
        raise TypeError(
            f"{counts.mechanism} asks one question: an association needs counts of a Product of "
            "mechanisms that the same people used; for a combination that was reported once, use "
            "joint.estimate(counts).association()"
        )
    if counts.n == 0:
        raise ValueError("there are no reports to test")
    if counts.channel.other == 0:
        raise ValueError(
            f"{counts.mechanism} asks an open question: say which strings to look for, with "
            "counts.over(candidates)"
        )
    most = len(counts.channel.factors) - 1
    found = [index(q) for q in questions]
    if len(found) != 2 or found[0] == found[1] or any(q is None or q > most for q in found):
        raise ValueError(
            f"questions are two different numbers from 0 to {most}, not {shown(tuple(questions))}"
        )
    first, second = sorted(q for q in found if q is not None)
    if first < 0:
        raise ValueError(f"questions are numbers from 0 to {most}, not {first}")
    return first, second


def _places(
    counts: Counts, reports: object, pair: tuple[int, int]
) -> tuple[Integers | None, tuple[NDArray[Any], NDArray[Any]]]:
    """Return the places of reports along the axes of two questions; they must be those counted."""
    mechanism = cast(_Placing, counts.mechanism)
    kept = reports if hasattr(reports, "__len__") else list(cast(Any, reports))
    if mechanism.count(kept) != counts:
        raise ValueError("these are not the reports that were counted: pass all of them, once")
    cohorts, axes = mechanism.placed(kept)
    if cast(ProductChannel, counts.margin(*pair).channel).cohorts is None:
        cohorts = None
    return cohorts, (axes[pair[0]], axes[pair[1]])


def _choice(
    scores: Scores, test: Test | None, has_reports: bool, can_simulate: bool
) -> tuple[Test, str, tuple[str, ...]]:
    """Return the test, why it is used, and notes about it."""
    expected = scores.expected
    small = bool((expected < VERY_FEW).any() or (expected < FEW).mean() > FEW_PART)
    possible = has_reports or can_permute_tables(scores)
    if test is None and (not small or possible):
        return ("permutation", _SMALL, ()) if small else ("score", _ENOUGH, ())
    rough = f"{_SMALL}, so the p-value is rough"
    if test is not None:
        exact = test in ("permutation", "bootstrap")
        return test, ASKED_FOR, () if exact or not small else (rough,)
    if can_simulate:
        return "bootstrap", f"{_SMALL}, and counts alone do not determine an exact test", ()
    way = f"{rough}: pass the reports for an exact test"
    return "score", "counts alone do not determine an exact test", (way,)


def _pearson(scores: Scores) -> tuple[float, int]:
    """Return Pearson's chi-square of the table of reports, without empty rows and columns."""
    channel = scores.channel
    if not channel.is_histogram or channel.cohorts is not None:
        raise ValueError(
            "Pearson's test needs a table in which every report counts once, as for two KRR: use "
            'test="score"'
        )
    expected, table = scores.expected, scores.strata[0].table
    seen = expected > 0
    statistic = float(((table - expected)[seen] ** 2 / expected[seen]).sum())
    rows, columns = int(seen.any(axis=1).sum()), int(seen.any(axis=0).sum())
    return statistic, (rows - 1) * (columns - 1)


def _wald(
    counts: Counts,
    scores: Scores,
    pair: tuple[int, int],
    given: tuple[Integers | None, tuple[NDArray[Any], NDArray[Any]]] | None,
) -> tuple[float, int, tuple[str, ...]]:
    """Return the Wald statistic, its degrees of freedom, and a note if EM did not come to rest."""
    channel = scores.channel
    if channel.cohorts is not None:
        raise ValueError('the Wald test is not made for hashed answers in cohorts: use "score"')
    if channel.is_histogram:
        table = scores.strata[0].table
        at = np.nonzero(table)
        left, right = (axis.law(0).T[i] for axis, i in zip(channel.axes, at, strict=True))
        weights = table[at].astype(np.float64)
    elif given is None:
        raise ValueError(
            f"the Wald test of {scores.counts.mechanism} needs the reports themselves: pass "
            'reports=..., or use test="score"'
        )
    else:
        parts = [cast(_Placing, counts.mechanism).parts[q] for q in pair]
        flags = [_flags(axis, own) for axis, own in zip(channel.axes, given[1], strict=True)]
        *kept, weights = distinct(*flags)
        left, right = (
            axis.law(0).T[own.argmax(axis=1)]
            if axis.is_histogram
            else _likelihoods(own[:, 1:], part.ratio)
            for axis, own, part in zip(channel.axes, kept, parts, strict=True)
        )
    statistic, rests = wald_statistic(left, right, weights)
    notes = () if rests else ("EM did not come to rest, so the statistic is rough",)
    return statistic, math.prod(k - 1 for k in channel.answers), notes


def _flags(axis: Axis, places: NDArray[Any]) -> NDArray[np.uint8]:
    """Return places as rows of zeros and ones, also those in one cell only."""
    if not axis.is_histogram:
        return np.asarray(places, np.uint8)
    return np.asarray(np.eye(axis.size, dtype=np.uint8)[places])


def _likelihoods(supports: NDArray[np.uint8], ratio: Fraction) -> Floats:
    """Return the likelihoods of reports that support sets of answers, up to a factor."""
    return np.asarray(1 + float(ratio - 1) * supports, np.float64)
