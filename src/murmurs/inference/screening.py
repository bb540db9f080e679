"""A screen of several questions: which pairs of them have answers that go together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import real, shown
from murmurs.boundary.texts import as_tuple
from murmurs.counts import Counts
from murmurs.inference.association import Association, association, the_pair
from murmurs.inference.detection import Control, rejected
from murmurs.numerics.arrays import Floats
from murmurs.present.layout import fold
from murmurs.present.text import MARK, left_out, p_text, table


@dataclass(frozen=True, eq=False)
class Screening:
    """Tests of all pairs of questions, and which of them stand out among so many.

    With "fdr" (Benjamini and Yekutieli 2001, valid under any dependence), the expected fraction of
    independent pairs among those that stand out is at most error_rate. With "bonferroni", that is
    the probability that any independent pair stands out.
    """

    tests: tuple[Association, ...]
    stands_out: NDArray[np.bool_]
    names: tuple[str, ...]
    error_rate: float
    control: Control

    @property
    def p_values(self) -> Floats:
        """The p-values of the pairs, in the order of the tests."""
        return np.array([test.p_value for test in self.tests])

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The names of the two questions of each test."""
        return tuple((self.names[i], self.names[j]) for i, j in (t.questions for t in self.tests))

    def to_document(self) -> dict[str, Any]:
        """Return the tests as plain values for JSON."""
        return {
            "error_rate": self.error_rate,
            "control": self.control,
            "names": list(self.names),
            "stands_out": self.stands_out.tolist(),
            "tests": [test.to_document() for test in self.tests],
        }

    def table(self, *, limit: int = 40) -> str:
        """Return the table for the terminal, the smallest p-value first."""
        order = self.p_values.argsort(kind="stable").tolist()
        lines = [
            [
                *self.pairs[t],
                MARK if self.stands_out[t] else "",
                p_text(self.tests[t].p_value),
                self.tests[t].test,
            ]
            for t in order[:limit]
        ]
        text = table(["question", "with", "", "p-value", "test"], lines, left=2)
        return text + left_out(len(order) - limit)

    @property
    def sentence(self) -> str:
        """How many pairs stand out, in one sentence."""
        count, pairs = int(self.stands_out.sum()), len(self.tests)
        rule = (
            f"on average at most {100 * self.error_rate:g} % of such findings are false"
            if self.control == "fdr"
            else f"the chance of any false finding is at most {100 * self.error_rate:g} %"
        )
        return f"The answers go together in {count} of {pairs} pairs of questions; {rule}."

    def __str__(self) -> str:
        return f"{self.table()}\n\n{fold(self.sentence)}"


def screening(
    counts: Counts,
    error_rate: float = 0.05,
    *,
    control: Control = "fdr",
    names: Sequence[str] = (),
    reports: object = None,
) -> Screening:
    """Test all pairs of questions of a product for association, with control of false findings.

    Each pair has the default test of `association`. ``names`` are those of the questions.

    >>> import murmurs as mm
    >>> three = mm.Product([mm.KRR(k=2, epsilon=1.0)] * 3)
    >>> counts = three.simulate([900, 900, 100, 100, 100, 100, 900, 900], np.random.default_rng(1))
    >>> print(screening(counts, names=["tea", "milk", "cat"]))
    question  with     p-value   test
    ────────  ────  ─  ───────  ─────
    tea       milk  *   < 1e-6  score
    tea       cat         0.45  score
    milk      cat         0.53  score
    <BLANKLINE>
    The answers go together in 1 of 3 pairs of questions; on average at most 5 % of such findings
    are false.
    """
    error_rate = real(error_rate, "error_rate", 1e-12, 0.5)
    the_pair(counts, (0, 1))
    count = len(counts.channel.factors)
    called = as_tuple(names, "names of questions") or tuple(f"question {i}" for i in range(count))
    if len(called) != count or len(set(called)) < count:
        raise ValueError(f"names are {count} different texts, one a question, not {shown(called)}")
    pairs = itertools.combinations(range(count), 2)
    tests = tuple(association(counts, questions=pair, reports=reports) for pair in pairs)
    marks = rejected(np.array([test.p_value for test in tests]), error_rate, control)
    return Screening(tests, marks, called, error_rate, control)
