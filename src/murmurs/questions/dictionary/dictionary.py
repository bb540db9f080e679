"""Dictionary: a question whose answers nobody listed, and that finds the frequent ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from murmurs.boundary.checks import whole
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.counts import Counts
from murmurs.inference.detection import Control
from murmurs.mechanisms.strings.dictionary import DictionaryMethod, planned_dictionary
from murmurs.questions.dictionary.discovery import Discovery
from murmurs.questions.dictionary.finding import discover
from murmurs.questions.dictionary.letters import ALPHABET, letters_of
from murmurs.questions.dictionary.power import Asked, floor_of, people_needed
from murmurs.questions.dictionary.search import Progress
from murmurs.questions.question import Question
from murmurs.randomness.sources import Chance, ChanceInBulk
from murmurs.wire import Reports


@dataclass(frozen=True)
class Dictionary:
    """A question whose answers are strings that nobody listed: `discover` finds the frequent ones.

    Each person reports once, about a prefix of the string, with all of ``epsilon``. ``longest`` is
    the number of letters up to which strings are looked for, and ``alphabet`` the letters that
    they may consist of; people may answer any string. With ``people``, how many will answer,
    `floor` says which shares can be found.

    With ``method="ngrams"``, each person reports the whole string and two n-grams of it, each with
    a third of ``epsilon``: the published method, which finds far fewer strings.

    >>> import numpy as np
    >>> pets = Dictionary(epsilon=4.0, longest=8, people=100_000)
    >>> rng = np.random.default_rng(1)
    >>> counts = pets.simulate({"luna": 50_000, "leo": 30_000, "oscar": 20_000}, rng)
    >>> pets.discover(counts).labels
    ('luna', 'leo', 'oscar')
    """

    epsilon: float
    longest: int = 20
    alphabet: str = ALPHABET
    name: str = "dictionary"
    text: str = ""
    people: int | None = None
    method: DictionaryMethod = "prefix"

    def __post_init__(self) -> None:
        letters = letters_of(self.alphabet)
        object.__setattr__(self, "alphabet", letters.alphabet)
        if self.people is not None:
            whole(self.people, "people", 1, MOST_PEOPLE)
        self.question  # noqa: B018 - checks epsilon, longest and name

    @cached_property
    def question(self) -> Question:
        """The open question that a survey asks."""
        return Question(self.name, (), self.mechanism, self.text)

    @cached_property
    def mechanism(self) -> Asked:
        """The mechanism, with the lengths and cohorts chosen."""
        return planned_dictionary(
            self.epsilon, self.longest, len(self.alphabet), method=self.method
        )

    @property
    def floor(self) -> float:
        """The share above which a string is nearly always found, if ``people`` is given.

        With prefixes, it is for strings of up to three quarters of the longest length; see
        `floor_at`.
        """
        return self.floor_at(None)

    def floor_at(self, length: int | None) -> float:
        """Return the same for strings of up to this many letters."""
        if self.people is None:
            raise ValueError("say how many people will answer, as people=100_000")
        return floor_of(self.mechanism, self.people, length)

    def people_needed(self, share: float, length: int | None = None) -> int:
        """Return how many people must answer for a string of this share to be found.

        Without a length, it is for strings of the length that `floor` is for.
        """
        return people_needed(self.mechanism, share, length)

    def encode(self, answer: str, random: Chance = None) -> Any:
        """Return a private report of one string; see `Question.encode`."""
        return self.question.encode(answer, random)

    def encode_many(self, answers: object, random: ChanceInBulk = None, **options: Any) -> Reports:
        """Return the private reports of many people; see `Question.encode_many`."""
        return self.question.encode_many(answers, random, **options)

    def count(self, reports: object) -> Counts:
        """Count reports, in whatever form they come."""
        return self.question.count(reports)

    def simulate(self, people: object, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population, a mapping from strings to numbers of people."""
        return self.question.simulate(people, random)

    def discover(
        self,
        counts: Counts,
        *,
        corpus: Iterable[str] = (),
        error_rate: float = 0.05,
        control: Control = "bonferroni",
        progress: Progress | None = None,
    ) -> Discovery:
        """Find the strings that enough people hold, with their shares; see `discover`."""
        found = discover(
            counts,
            alphabet=self.alphabet,
            corpus=corpus,
            error_rate=error_rate,
            control=control,
            progress=progress,
        )
        return found.titled(self.text or self.name)
