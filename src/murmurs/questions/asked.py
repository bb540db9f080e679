"""Asked: the contract that files, client, collector, commands and promise have with a question.

A kind of question is a class that keeps it: `Single` if it asks one thing, `Joint` for several of
these, asked of the same people. Nobody outside this package asks which kind it is: what differs
between kinds is a member here. `kinds` lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.open import OpenProduct
from murmurs.randomness.sources import Chance, ChanceInBulk
from murmurs.wire import Reports

if TYPE_CHECKING:
    from murmurs.questions.dictionary.discovery import Discovery
    from murmurs.questions.single import Single

GIVEN = "it was given"
"""Why a question has its mechanism, where the caller named it."""


class Asked(ABC):
    """What reports answer: one question, or several together."""

    if TYPE_CHECKING:  # fields of the kinds, or properties

        @property
        def name(self) -> str:
            """The name under which a survey, its files and its submissions know it."""

        @property
        def text(self) -> str:
            """What people are asked, or what heads tables and plots."""

        @property
        def questions(self) -> tuple[Single, ...]:
            """The single questions that it consists of: itself, if it is one."""

        @property
        def labels(self) -> tuple[str, ...]:
            """The answers as tables show them; for an open question, those to look for."""

        @property
        def mechanism(self) -> Mechanism[Any] | OpenMechanism[Any] | OpenProduct:
            """The mechanism that randomises answers."""

        @property
        def why(self) -> str:
            """Why it has this mechanism."""

        @property
        def ordered(self) -> bool:
            """Whether answers have an order, which tables and plots keep."""

        @property
        def is_open(self) -> bool:
            """Whether any string is an answer to it, or to one of its questions."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its questions: the columns of answers that it takes."""
        return tuple(question.name for question in self.questions)

    @property
    def is_joint(self) -> bool:
        """Whether it consists of several questions, which the same people answer."""
        return len(self.questions) > 1

    @property
    def epsilon(self) -> float:
        """What all reports of a person reveal together, at most."""
        return self.mechanism.epsilon

    @property
    def meanings(self) -> list[tuple[str, ...]]:
        """What the numbers in reports and counts stand for, for each question."""
        return [question.meaning for question in self.questions]

    @property
    def others(self) -> str:
        """What else a person may have answered, as a promise says it."""
        return "any other answer"

    @property
    def searches(self) -> bool:
        """Whether `results` searches for strings, if no candidates are given."""
        return False

    @property
    def needs_candidates(self) -> tuple[str, ...]:
        """The questions for which nothing can be estimated without a list of candidates."""
        needed = tuple(q.name for q in self.questions if q.is_open and not q.labels)
        return () if self.searches else needed

    @abstractmethod
    def pick(self, answers: Mapping[str, Any]) -> Any:
        """Return one person's answer from a mapping that has an answer for each of `names`.

        From a mapping to columns it returns what `encode_many` takes.
        """

    @abstractmethod
    def answer(self, answer: Any) -> Any:
        """Return one person's answer as the mechanism takes it; errors never quote it.

        An answer that is not text may also come as text, as files and command lines have it.
        """

    def encode(self, answer: Any, random: Chance = None) -> Any:
        """Return a private report of one person's answer, or of a tuple with one to each question.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        return self.mechanism.encode(self.answer(answer), random)

    @abstractmethod
    def encode_many(
        self,
        answers: Any,
        random: ChanceInBulk = None,
        *,
        missing: Any = None,
        drop_missing: bool = False,
        unknown: Any = None,
    ) -> Reports:
        """Return the private reports of many people as one array."""

    def encode_column(self, answers: Any, random: ChanceInBulk = None, **options: Any) -> list[Any]:
        """Return the private reports of many people as a column for a data frame.

        It is a list of numbers, or of bytes for mechanisms whose reports are more than a number;
        `count` takes it back in any data frame or file. Options are those of `encode_many`.
        """
        return self.mechanism.shape.column(self.encode_many(answers, random, **options))

    @abstractmethod
    def count(self, reports: Any) -> Counts:
        """Add reports up; see `Mechanism.count` for the forms in which they may come."""

    @abstractmethod
    def count_reported(
        self, reported: Any, *, drop_missing: bool = False, unknown: Any = None
    ) -> Counts:
        """Add up answers that were randomised already, by their labels."""

    @abstractmethod
    def simulate(self, people: Any, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population; the cost does not grow with it."""

    @abstractmethod
    def estimate(
        self,
        counts: Counts,
        estimator: Any = None,
        *,
        candidates: Any = None,
        complete: bool = False,
    ) -> Estimate:
        """Estimate the shares of its answers; ``candidates`` are strings to look for."""

    def results(
        self,
        counts: Counts,
        search: Mapping[str, Any],
        **options: Any,
    ) -> Estimate | Discovery:
        """Return what is shown: an estimate with these options, or what is found by a search."""
        return self.estimate(counts, **options)

    @abstractmethod
    def part(self, name: str) -> Asked | None:
        """Return what is asked here under this name, its own or that of one of its questions.

        A question may have another mechanism here than by itself. It is None if its answer is
        only reported in combination with others.
        """

    @abstractmethod
    def to_document(self) -> dict[str, Any]:
        """Return it as plain values for JSON, whole in itself."""

    def to_entry(self) -> dict[str, Any]:
        """Return the entry of a survey, which has its questions already."""
        return self.to_document()
