"""Single: what all kinds of one question share, whatever their answers are.

A kind says what its answers are (`answer`, `coded_answers`), how a population of them is drawn
(`simulate`), how shares are estimated (`estimate`), and how it is written (`to_document`).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import MISSING
from murmurs.boundary.labels import Labels, refuse_missing
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.numbers import NumberEstimate
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.numerics.arrays import Integers
from murmurs.questions import reported as already
from murmurs.questions.asked import Asked
from murmurs.randomness.keyed import of_question, of_rows
from murmurs.randomness.sources import ChanceInBulk
from murmurs.scales.scale import Scale
from murmurs.wire import BadReportError, Reports


class Single(Asked):
    """One question: a name, a mechanism, and answers of some kind."""

    name: str
    text: str
    labels: tuple[str, ...]
    mechanism: Mechanism[Any] | OpenMechanism[Any]
    ordered: bool
    why: str
    scale: Scale | None = None
    """The numbers that answers stand for, if they have an order."""

    @abstractmethod
    def coded_answers(
        self,
        answers: object,
        *,
        missing: str | None = None,
        drop_missing: bool = False,
        unknown: str | None = None,
    ) -> tuple[NDArray[np.integer[Any]], Integers | list[str]]:
        """Return answers as codes, and the table of what the codes stand for.

        The table has what the mechanism takes: numbers of answers or, for an open question, checked
        strings. The options are those of `Question.encode_many`. With ``drop_missing``, missing
        answers have the code `MISSING`; the last entry of a table of numbers is for them.
        """

    @abstractmethod
    def with_mechanism(self, mechanism: Any) -> Self:
        """Return the same question with another mechanism for the same answers."""

    @property
    def called(self) -> str:
        """What errors call it."""
        return f"question {shown(self.name)}"

    @property
    def questions(self) -> tuple[Single, ...]:
        """The single questions that it consists of: itself."""
        return (self,)

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer."""
        return isinstance(self.mechanism, OpenMechanism)

    @property
    def has_numbers(self) -> bool:
        """Whether answers are numbers, dates or durations, which are put into buckets."""
        return self.scale is not None and self.scale.kind != "scores"

    def described(self, found: Estimate) -> Estimate:
        """Return an estimate of the shares of its answers with its title, order and scale."""
        title = self.text or self.name
        found = dataclasses.replace(found, title=title, ordered=self.ordered)
        return found if self.scale is None else NumberEstimate.of(found, self.scale)

    @property
    def known(self) -> Labels:
        """The labels, as errors and files of answers need them."""
        return Labels(self.labels, self.called)

    @property
    def meaning(self) -> tuple[str, ...]:
        """What the numbers in reports and counts stand for; strings stand for themselves."""
        return () if self.is_open else self.labels

    def part(self, name: str) -> Self:
        """Return what is asked under this name: itself."""
        return self

    def pick(self, answers: Mapping[str, Any]) -> Any:
        """Return one person's answer from a mapping by the names of questions."""
        return answers[self.name]

    def place_of(self, value: object) -> int | None:
        """Return the number of the answer that a value or a label stands for, or None."""
        try:
            return cast(int, self.answer(value))
        except (TypeError, ValueError):
            return self.known.find(value)

    def label_of(self, value: object) -> str | None:
        """Return what tables call the answer that a value or a label stands for, or None."""
        place = self.place_of(value)
        return None if place is None else self.labels[place]

    def encode_many(
        self,
        answers: object,
        random: ChanceInBulk = None,
        *,
        missing: str | None = None,
        drop_missing: bool = False,
        unknown: str | None = None,
    ) -> Reports:
        """Return the private reports of many people as one compact array.

        ``answers`` are one per person: a list, a NumPy array, or a column of pandas, polars or
        Arrow. Missing answers are refused, unless ``missing`` names a label for them or
        ``drop_missing`` leaves them out (of an open question, empty strings too). Other values that
        are no answers are refused, unless ``unknown`` names a label for them.

        >>> from murmurs import Question
        >>> drink = Question("drink", ["tea", "mate", "other"], epsilon=8.0)
        >>> rng = np.random.default_rng(1)
        >>> drink.encode_many(["tea", "milk", None], rng, unknown="other", drop_missing=True)
        array([0, 2], dtype=uint8)
        """
        codes, table = self.coded_answers(
            answers, missing=missing, drop_missing=drop_missing, unknown=unknown
        )
        own = of_question(random, self.name)
        if drop_missing and (gone := codes == MISSING).any():
            codes, own = codes[~gone], of_rows(own, ~gone)
        return self.mechanism.encode_coded(codes, cast(Any, table), own)

    def numbers(
        self, answers: object, *, missing: str | None = None, unknown: str | None = None
    ) -> Integers:
        """Return the numbers of the answers, as a mechanism with a list of answers takes them.

        >>> from murmurs import Question
        >>> Question("tea", ["no", "yes"], epsilon=1.0).numbers([True, False, "yes"]).tolist()
        [1, 0, 1]
        """
        self.closed  # noqa: B018 - refuses an open question
        codes, table = self.coded_answers(
            answers, missing=missing, drop_missing=missing is None, unknown=unknown
        )
        if missing is None:
            refuse_missing(codes, "leave them out")
        return np.asarray(cast(Integers, table)[codes])

    @property
    def closed(self) -> Mechanism[Any]:
        """The mechanism of a question with a fixed list of answers."""
        if isinstance(self.mechanism, OpenMechanism):
            raise ValueError(f"{self.called} is open: it has no list of answers")
        return self.mechanism

    def count(self, reports: Any) -> Counts:
        """Add reports up; see `Mechanism.count` for the forms in which they may come."""
        try:
            return self.mechanism.count(reports)
        except BadReportError:
            already.refuse_labels(self, reports)
            raise

    def count_reported(
        self, reported: object, *, drop_missing: bool = False, unknown: str | None = None
    ) -> Counts:
        """Add up answers that were randomised already, on paper or by telephone, by their labels.

        They are a column with one label per person, or totals: a mapping from label to number of
        people, or the ``value_counts()`` of pandas. For mechanisms whose report is an answer
        (`KRR`) or has a name (`Design`). Nothing is randomised here. Missing ones are refused,
        unless ``drop_missing`` leaves them out, and so are those that are no reports, unless
        ``unknown`` names a report for them.

        >>> from murmurs import Question, crosswise
        >>> crossed = Question("cheated", mechanism=crosswise("1/4"))
        >>> crossed.count_reported(["same", "different", None], drop_missing=True).cells
        array([1, 1])
        >>> crossed.count_reported({"same": 620, "different": 380}).n
        1000
        """
        return already.count_reported(self, reported, drop_missing, unknown)
