"""Asked: the contract that files, client, collector, study and promise have with a question.

A kind of question is a class that keeps it. `Single` has most of it for kinds that ask one thing;
`Joint` is several of these, asked of the same people. Nobody outside this room asks which kind it
is: what differs between kinds is a member here. `kinds` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.open import OpenProduct
from murmurs.questions.dictionary.discovery import Discovery
from murmurs.questions.single import Single
from murmurs.randomness.sources import Chance, ChanceInBulk
from murmurs.wire import Reports


class Asked(Protocol):
    """What reports answer: one question, or several together."""

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
    def names(self) -> tuple[str, ...]:
        """The names of its questions: the columns of answers that it takes."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers that tables show; none where any string is an answer, unless some are."""

    @property
    def mechanism(self) -> Mechanism[Any] | OpenMechanism[Any] | OpenProduct:
        """The mechanism that randomises answers."""

    @property
    def epsilon(self) -> float:
        """What a report of a person reveals at most."""

    @property
    def why(self) -> str:
        """Why it has this mechanism."""

    @property
    def ordered(self) -> bool:
        """Whether answers have an order, which tables and plots keep."""

    @property
    def is_open(self) -> bool:
        """Whether some of its answers may be any string."""

    @property
    def searches(self) -> bool:
        """Whether `results` searches for strings, if no candidates are given."""

    @property
    def needs_candidates(self) -> tuple[str, ...]:
        """The questions for which nothing can be estimated without a list of candidates."""

    def pick(self, answers: Mapping[str, Any], /) -> Any:
        """Return one person's answer from a mapping that has an answer for each of `names`."""

    def answer(self, answer: Any, /) -> Any:
        """Return one person's answer as the mechanism takes it; errors never quote it.

        An answer that is not text may also come as text, as files and command lines have it.
        """

    def encode(self, answer: Any, /, random: Chance = None) -> Any:
        """Return a private report of one person's answer."""

    def encode_many(
        self,
        answers: Any,
        /,
        random: ChanceInBulk = None,
        *,
        missing: Any = None,
        drop_missing: bool = False,
        unknown: Any = None,
    ) -> Reports:
        """Return the private reports of many people as one array."""

    def encode_column(
        self,
        answers: Any,
        /,
        random: ChanceInBulk = None,
        *,
        missing: Any = None,
        drop_missing: bool = False,
        unknown: Any = None,
    ) -> list[Any]:
        """Return the private reports of many people as a column for a data frame."""

    def count(self, reports: Any) -> Counts:
        """Add reports up."""

    def count_reported(
        self, reported: Any, /, *, drop_missing: bool = False, unknown: Any = None
    ) -> Counts:
        """Add up answers that were randomised already, by their labels."""

    def simulate(self, people: Any, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population."""

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
        estimator: Any = None,
        *,
        candidates: Any = None,
        complete: bool = False,
        **search: Any,
    ) -> Estimate | Discovery:
        """Return what is shown: the estimate, or what a search with these options finds."""

    def part(self, name: str) -> Asked | None:
        """Return what is asked here under this name, its own or that of one of its questions.

        A question may have another mechanism here than by itself. It is None if its answer is
        only reported in combination with others.
        """

    def to_document(self) -> dict[str, Any]:
        """Return it as plain values for JSON, whole in itself."""

    def to_entry(self) -> dict[str, Any]:
        """Return the entry of a survey, which has its questions already."""
