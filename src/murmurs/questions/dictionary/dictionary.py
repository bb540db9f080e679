"""Dictionary: a question whose answers nobody listed, and that finds the frequent ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from murmurs.boundary.checks import shown, whole
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.inference.detection import Control
from murmurs.mechanisms.strings.dictionary import DictionaryMethod, planned_dictionary
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.mechanisms.strings.prefix_levels import Like
from murmurs.mechanisms.strings.prefixes import Prefixes
from murmurs.questions.dictionary.discovery import Discovery
from murmurs.questions.dictionary.finding import discover
from murmurs.questions.dictionary.letters import ALPHABET, letters_of
from murmurs.questions.dictionary.power import Searched, floor_of, people_needed
from murmurs.questions.dictionary.search import Progress
from murmurs.questions.entry import QuestionEntry
from murmurs.questions.question import Question
from murmurs.questions.single import Single


@dataclass(frozen=True, init=False, eq=False)
class Dictionary(Question):
    """A question whose answers are strings that nobody listed: `discover` finds the frequent ones.

    Each person reports once, about a prefix of the string, with all of ``epsilon``. ``longest`` is
    the number of letters up to which strings are looked for, and ``alphabet`` the letters that
    they may consist of; people may answer any string. With ``people``, how many will answer,
    `floor` says which shares can be found. Words, names and paths have many lengths; if all strings
    are about as long as ``longest``, ``like="identifiers"`` finds more of them.

    With ``method="ngrams"``, each person reports the whole string and two n-grams of it, each with
    a third of ``epsilon``: the published method, which finds far fewer strings.

    >>> import numpy as np
    >>> pets = Dictionary(epsilon=4.0, longest=8, people=100_000)
    >>> rng = np.random.default_rng(1)
    >>> counts = pets.simulate({"luna": 50_000, "leo": 30_000, "oscar": 20_000}, rng)
    >>> pets.discover(counts).labels
    ('luna', 'leo', 'oscar')
    """

    mechanism: Searched
    scale: None = field(init=False, repr=False)
    alphabet: str
    people: int | None

    def __init__(
        self,
        epsilon: float | None = None,
        longest: int = 20,
        alphabet: str = ALPHABET,
        name: str = "dictionary",
        text: str = "",
        people: int | None = None,
        method: DictionaryMethod = "prefix",
        *,
        like: Like = "words",
        mechanism: Searched | None = None,
        labels: Sequence[str] = (),
        ordered: bool = False,
    ) -> None:
        self._set(alphabet=letters_of(alphabet).alphabet, people=people)
        if people is not None:
            whole(people, "people", 1, MOST_PEOPLE)
        if mechanism is None:
            if epsilon is None:
                raise ValueError("a dictionary needs an epsilon or a mechanism: Dictionary(4.0)")
            mechanism = planned_dictionary(
                epsilon, longest, len(self.alphabet), method=method, like=like
            )
        super().__init__(name, labels, cast(Any, mechanism), text, ordered=ordered)
        if not isinstance(mechanism, Prefixes | NGrams):
            raise TypeError(f"{self.called} has {shown(mechanism)}, which cannot be searched")

    @property
    def longest(self) -> int:
        """The number of letters up to which strings are looked for."""
        return self.mechanism.longest

    @property
    def searches(self) -> bool:
        """Whether `results` searches for strings, if no candidates are given: it does."""
        return True

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

    def discover(
        self,
        counts: Counts,
        *,
        alphabet: str | None = None,
        corpus: Iterable[str] = (),
        error_rate: float = 0.05,
        control: Control = "bonferroni",
        progress: Progress | None = None,
    ) -> Discovery:
        """Find the strings that enough people hold, with their shares; see `discover`.

        They consist of the letters of the dictionary, unless an ``alphabet`` is given.
        """
        other = getattr(counts, "mechanism", self.mechanism)
        if isinstance(other, Prefixes | NGrams) and other != self.mechanism:
            raise ValueError(
                f"counts of {counts.mechanism} are not answers to {shown(self.name)}, which has "
                f"{self.mechanism}"
            )
        found = discover(
            counts,
            alphabet=self.alphabet if alphabet is None else alphabet,
            corpus=corpus,
            error_rate=error_rate,
            control=control,
            progress=progress,
        )
        return found.titled(self.text or self.name)

    def results(
        self, counts: Counts, search: Mapping[str, Any], **options: Any
    ) -> Estimate | Discovery:
        """Return the shares of candidates or, if none are given, the strings that are found."""
        if options.get("candidates") is None:
            if options.get("estimator") is not None or options.get("complete"):
                raise ValueError(
                    "method and complete are for a list of candidates, and a search has none: list "
                    "candidates, or leave method and complete out"
                )
            return self.discover(counts, **search)
        return self.estimate(counts, **options)


def of_kind(question: Single) -> Single:
    """Return a question of strings that can be searched as the dictionary that it is."""
    if not isinstance(question.mechanism, Prefixes | NGrams) or isinstance(question, Dictionary):
        return question
    own, text, labels = question.mechanism, question.text, question.labels
    return Dictionary(
        mechanism=own, name=question.name, text=text, labels=labels, ordered=question.ordered
    )


class DictionaryEntry(QuestionEntry):
    """The fields of a dictionary in a survey file: a question with a mechanism that finds strings.

    The alphabet is no part of the survey: it is given to `discover`.
    """

    @classmethod
    def owns(cls, entry: Mapping[str, Any]) -> bool:
        """Whether its mechanism finds strings."""
        mechanism = entry.get("mechanism")
        named = mechanism.get("name") if isinstance(mechanism, dict) else None
        return named in ("Dictionary", "Prefixes", "NGrams")

    def settled(self, known: Mapping[str, Single]) -> Single:
        """Return the dictionary, with what the file leaves open filled in."""
        return of_kind(super().settled(known))
