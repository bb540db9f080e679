"""Joint: several questions asked together, with their reports, counts and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from murmurs import estimators
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import check_name, listed
from murmurs.counts import Counts
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.closed import BETWEEN, Product
from murmurs.mechanisms.products.common import Combined
from murmurs.mechanisms.products.open import OpenProduct, product_of
from murmurs.numerics.arrays import Integers
from murmurs.planning.choice import choose
from murmurs.questions.asked import GIVEN, Asked
from murmurs.questions.joint.candidates import candidate_lists
from murmurs.questions.joint.coding import Labels, answered, coded_columns, reported_columns
from murmurs.questions.joint.estimate import JointEstimate, combined
from murmurs.questions.joint.parts import as_question, check_questions, in_common_cohorts
from murmurs.questions.joint.people import Combinations, combinations_of, histogram
from murmurs.questions.joint.rows import aligned
from murmurs.questions.single import Single
from murmurs.randomness.keyed import of_question, of_rows
from murmurs.randomness.sources import ChanceInBulk
from murmurs.wire import Reports


@dataclass(frozen=True, init=False)
class Joint(Asked):
    """Questions answered by the same people: an answer is a tuple, and so is a report.

    Each question keeps its mechanism, the reports of a person go together, and the epsilons add up.
    Parts are questions, or mechanisms, which are then called "0", "1" and so on. Open questions
    with different numbers of cohorts all get the smallest of these numbers, as a person has one
    cohort for all questions.

    With ``once``, the combination of answers is reported as one answer, by one mechanism with the
    whole budget. That is far more accurate, but all answers must be listed beforehand. The
    mechanism is chosen for ``epsilon``, by default the sum of the questions' epsilons, unless
    ``mechanism`` is given.

    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> sugar = Question("sugar", ["yes", "no"], epsilon=0.5)
    >>> both = Joint(drink, sugar)
    >>> both.name, both.epsilon
    ('drink+sugar', 1.5)
    >>> report = both.encode(("tea", "no"))
    >>> people = {("tea", "no"): 6000, ("mate", "yes"): 3000, ("mate", "no"): 1000}
    >>> found = both.estimate(both.simulate(people, np.random.default_rng(1)))
    >>> found.crosstab().shape, found.n
    ((2, 2), 10000)
    >>> Joint(drink, sugar, once=True).mechanism
    KRR(k=4, epsilon=1.5)
    """

    questions: tuple[Single, ...]
    name: str
    once: bool
    mechanism: Mechanism[Any] | OpenProduct
    why: str = field(compare=False, repr=False)

    def __init__(
        self,
        *parts: Single | Mechanism[Any] | OpenMechanism[Any],
        name: str | None = None,
        once: bool = False,
        epsilon: float | None = None,
        mechanism: Mechanism[Any] | None = None,
    ) -> None:
        questions = tuple(as_question(part, number) for number, part in enumerate(parts))
        check_questions(questions)
        self._set(questions=questions, once=once, why=GIVEN)
        self._set(name="+".join(self.names) if name is None else name)
        check_name(self.name, "a joint of questions")
        if not isinstance(once, bool):
            raise TypeError(f"once must be True or False, not {shown(once)}")
        if once:
            self._report_once(epsilon, mechanism)
        elif epsilon is not None or mechanism is not None:
            raise ValueError(
                f"each question of {shown(self.name)} has a mechanism with an epsilon of its own: "
                "leave epsilon and mechanism out, or report the combination with once=True"
            )
        else:
            self._set(mechanism=product_of(in_common_cohorts(self.questions)))

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _report_once(self, epsilon: float | None, mechanism: Mechanism[Any] | None) -> None:
        """Take or choose the mechanism that reports the combination."""
        for question in self.questions:
            if question.is_open:
                raise ValueError(
                    f"question {shown(question.name)} is open, and a combination can be reported "
                    "once only if all answers are listed: leave once out"
                )
        k = math.prod(self.sizes)
        if mechanism is None:
            budget = math.fsum(q.mechanism.epsilon for q in self.questions)
            choice = choose(k, budget if epsilon is None else epsilon)
            self._set(mechanism=choice.mechanism, why=choice.why)
            return
        if epsilon is not None:
            raise ValueError("give an epsilon or a mechanism, not both")
        given: Any = mechanism
        if not isinstance(given, Mechanism) or isinstance(given, Combined):
            raise TypeError(f"{shown(mechanism)} is no mechanism for one answer")
        if mechanism.k != k:
            raise ValueError(
                f"{shown(self.name)} has {k} combinations of answers, but its mechanism "
                f"{mechanism} takes {mechanism.k} answers"
            )
        self._set(mechanism=mechanism)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of labels of each question; 0 for an open question without candidates."""
        return tuple(len(question.labels) for question in self.questions)

    @property
    def text(self) -> str:
        """What heads tables and plots: the names of the questions."""
        return BETWEEN.join(self.names)

    @property
    def ordered(self) -> bool:
        """Whether the answers to all questions have an order."""
        return all(question.ordered for question in self.questions)

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer to one of the questions."""
        return any(question.is_open for question in self.questions)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the combinations of answers, if no question is open."""
        return () if self.is_open else combined([q.labels for q in self.questions])

    def part(self, name: str) -> Joint | Single | None:
        """Return what is asked here under this name: itself, or one of its questions.

        The question has the mechanism that it has here. It is None if only the combination of
        answers is reported.
        """
        if name == self.name:
            return self
        if self.once:
            return None
        place = self.names.index(name)
        own = self._product("answers to one question").parts[place]
        asked = self.questions[place]
        return asked if own == asked.mechanism else asked.with_mechanism(own)

    def pick(self, answers: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return one person's answers from a mapping by the names of questions."""
        return tuple(answers[name] for name in self.names)

    def answer(self, answer: tuple[Any, ...]) -> Any:
        """Return one person's answers as the mechanism takes them; errors do not quote them.

        It is the number of the combination or, if a question is open, the tuple of the answers.
        """
        given: Any = answer
        if not isinstance(given, tuple) or len(given) != len(self.questions):
            kind = f"{len(given)} of them" if isinstance(given, tuple) else type(given).__name__
            raise TypeError(
                f"an answer to {listed(self.names)} is a tuple of {len(self.questions)} answers in "
                f"this order, not {kind}"
            )
        own = answered(self.questions, given)
        if self.is_open:
            return own
        return int(np.ravel_multi_index(cast("tuple[int, ...]", own), self.sizes))

    def encode_many(
        self,
        data: object,
        random: ChanceInBulk = None,
        *,
        missing: Labels = None,
        drop_missing: bool = False,
        unknown: Labels = None,
    ) -> Reports:
        """Return the private reports of many people as one array, one row for each submission.

        ``data`` has a column for each question: a data frame of pandas, polars or Arrow, a mapping
        from name to column, or a list of columns in the order of the questions. Columns are as in
        `Question.encode_many`, and must have the same length. ``missing`` and ``unknown`` name a
        label, or a label for each of some questions, as ``{"drink": "other"}``. With
        ``drop_missing``, a row is left out if any of its answers is missing.
        """
        codes, tables, there = coded_columns(self.questions, data, missing, drop_missing, unknown)
        own_random = of_rows(of_question(random, self.name), there)
        if isinstance(self.mechanism, OpenProduct):
            numbers = [
                own if question.is_open else np.asarray(cast(Integers, table)[own])
                for question, own, table in zip(self.questions, codes, tables, strict=True)
            ]
            texts = [
                table if question.is_open else None
                for question, table in zip(self.questions, tables, strict=True)
            ]
            return self.mechanism.encode_coded(numbers, texts, own_random)
        columns = [np.asarray(cast(Integers, t)[own]) for own, t in zip(codes, tables, strict=True)]
        numbered = np.ravel_multi_index(columns, self.sizes)
        return self.mechanism.encode_many(numbered, own_random)

    def count(self, reports: Any) -> Counts:
        """Add reports up; see `Mechanism.count` for the forms in which they may come."""
        if isinstance(reports, np.ndarray) and (reports.dtype.names is not None) == self.once:
            raise TypeError(self._other_way("these reports are"))
        try:
            return self.mechanism.count(reports)
        except (TypeError, ValueError) as error:
            if self.once or not _are_columns(reports, len(self.questions)):
                raise
            raise TypeError(
                f"count takes reports to all questions of {shown(self.name)} together, not a "
                "column for each: if row i of every column comes from the same submission, use "
                "count_aligned(columns)"
            ) from error

    def _other_way(self, what: str) -> str:
        """Return why reports or counts do not fit that were made with the other kind of joint."""
        if self.once:
            return (
                f"{what} of a joint with a report to each question, and {shown(self.name)} reports "
                "the combination once: use the joint without once=True"
            )
        return (
            f"{what} of combinations or of a single question, and {shown(self.name)} has a report "
            "to each of its questions: use the joint that made them, with once=True if they are of "
            "combinations"
        )

    def count_aligned(self, columns: Sequence[Any]) -> Counts:
        """Add up reports to the single questions, given as a column for each.

        Row i of every column must come from the same submission. Reports are never joined by a
        person: whoever links submissions learns more than one report's epsilon allows.
        """
        return self.mechanism.count_checked(self.aligned(columns))

    def aligned(self, columns: Sequence[Any]) -> Iterator[Reports]:
        """Return reports to all questions, joined row by row, from a column for each question."""
        mechanism = self._product("reports to single questions")
        for question, part in zip(self.questions, mechanism.parts, strict=True):
            if part != question.mechanism:
                raise ValueError(
                    f"asked together, {shown(question.name)} has {part}, and by itself "
                    f"{question.mechanism}: encode the questions together"
                )
        return aligned(columns, self.names, mechanism)

    def count_reported(
        self, data: object, *, drop_missing: bool = False, unknown: Labels = None
    ) -> Counts:
        """Add up answers that were randomised already, by their labels, a column for each question.

        See `Question.count_reported`. Nothing is randomised here.
        """
        mechanism = self._product("answers that were randomised already")
        columns = reported_columns(self.questions, data, drop_missing, unknown)
        return mechanism.count(mechanism.joined(columns))

    def _product(self, what: str) -> Product | OpenProduct:
        if not isinstance(self.mechanism, Product | OpenProduct):
            raise ValueError(
                f"{shown(self.name)} is reported once, as a combination: {what} cannot be counted"
            )
        return self.mechanism

    def simulate(self, people: object, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population.

        ``people`` says how many hold each combination of answers, by label: a crosstab of pandas,
        a mapping from tuples of labels to numbers, the counts of rows of a data frame; or a table
        of numbers, nested as the questions are listed.
        """
        pairs = combinations_of(people, self.names)
        mechanism = self.mechanism
        if isinstance(mechanism, OpenProduct):
            if pairs is None:
                raise TypeError(
                    f"{shown(self.name)} has an open question: people is a mapping from tuples of "
                    "strings to numbers of people, or a crosstab"
                )
            return self._simulate_open(mechanism, pairs, random)
        if pairs is None:
            table = np.asarray(people)
            if table.shape != self.sizes:
                raise ValueError(
                    f"people of {shown(self.name)} is a table of shape {self.sizes}, not "
                    f"{table.shape}"
                )
            return mechanism.simulate(table.reshape(-1), random)
        sure = [question.labels for question in self.questions]
        return mechanism.simulate(histogram(pairs, self.questions, sure), random)

    def _simulate_open(
        self, mechanism: OpenProduct, pairs: Combinations, random: ChanceInBulk
    ) -> Counts:
        labels = [
            tuple(dict.fromkeys(own[place] for own, _ in pairs)) if q.is_open else q.labels
            for place, q in enumerate(self.questions)
        ]
        lists = [own if q.is_open else None for q, own in zip(self.questions, labels, strict=True)]
        over = mechanism.over(lists, complete=True)
        drawn = over.simulate(histogram(pairs, self.questions, labels), random)
        return Counts(mechanism, drawn.n, drawn.cells)

    def estimate(
        self,
        counts: Counts,
        estimator: estimators.Estimator | None = None,
        *,
        candidates: Mapping[str, Iterable[str]] | None = None,
        complete: bool = False,
    ) -> JointEstimate:
        """Estimate the table of shares.

        ``estimator`` names one instead of the default. ``candidates`` are the strings to look
        for, a list for each open question by its name; by default the question's labels. With
        ``complete`` nobody holds a string that is not listed; otherwise all others are "(other)".
        """
        if not isinstance(counts, Counts):
            raise TypeError(
                f"estimate takes Counts, not {type(counts).__name__}: add reports up first, "
                "joint.count(reports)"
            )
        if isinstance(counts.mechanism, Combined) == self.once:
            raise ValueError(self._other_way("these counts are"))
        if counts.mechanism != self.mechanism:
            raise ValueError(
                f"counts of {counts.mechanism} are not answers to {shown(self.name)}, which has "
                f"{self.mechanism}"
            )
        lists = candidate_lists(self, candidates, complete)
        answers = [question.labels for question in self.questions]
        if isinstance(self.mechanism, OpenProduct):
            counts = counts.over(cast(Any, lists), complete=complete)
            parts = cast(Product, counts.mechanism).parts
            answers = [
                part.labels if question.is_open else question.labels
                for question, part in zip(self.questions, parts, strict=True)
            ]
        found = estimators.estimate(counts, estimator)
        return JointEstimate.of(found, self.questions, tuple(answers))

    def to_document(self) -> dict[str, Any]:
        """Return the joint with its questions as plain values for JSON."""
        return self._document([question.to_document() for question in self.questions])

    def to_entry(self) -> dict[str, Any]:
        """Return the entry of a survey, which has the questions already: it names them."""
        return self._document(list(self.names))

    def _document(self, questions: list[Any]) -> dict[str, Any]:
        document = {"name": self.name, "questions": questions}
        once = {"once": True, "mechanism": self.mechanism.to_document()}
        return document | (once if self.once else {})


def _are_columns(reports: object, count: int) -> bool:
    """Return whether these may be columns, one for each question, instead of reports."""
    if not isinstance(reports, list | tuple) or len(reports) != count:
        return False
    return all(
        hasattr(own, "__len__")
        and not isinstance(own, str | bytes)
        and not (isinstance(own, list | tuple) and len(own) <= count)  # a report in JSON
        for own in reports
    )
