"""Several: a question whose answers are sets of labels, tick all that apply."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown, whole
from murmurs.boundary.labelled import pairs_of
from murmurs.boundary.labels import refuse_missing
from murmurs.boundary.texts import as_tuple, check_name, check_text
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.mechanisms.sets.privset import More, PrivSet
from murmurs.mechanisms.sets.sets import SetMechanism
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.numerics.arrays import Integers
from murmurs.planning.ticks import choose_for_sets
from murmurs.questions.asked import GIVEN
from murmurs.questions.question import Question
from murmurs.questions.several.reading import Choices, Ticks, coded_sets, text_of, ticks_in
from murmurs.randomness.sources import ChanceInBulk

SAMPLED = (
    "of people with more than {most} answers, {most} were kept at random: shares are of those "
    "that were kept, and too low where people tick many"
)
"""The note on estimates from answers that were sampled down."""


@dataclass(frozen=True, init=False, eq=False)
class Several(Question):
    """A question of which several labels may be ticked, or none; an answer is the set of them.

    Made by ``Question(..., several=True)``. Epsilon protects whole sets: how many labels were
    ticked is as hidden as which. At most ``most`` labels may be ticked, by default all: the fewer,
    the more accurate. Answers with more are refused or, with ``more="sample"``, reduced to ``most``
    of their labels at random on the device, so that shares are of the labels that were kept.

    An answer is a collection of labels, or text with ";" between them. Many answers are a column of
    these, or a table with a column of zeros and ones for each label. With ``pairs``, counts keep
    how often two answers are reported together, and the estimate says which go together.

    >>> owns = Question("owns", ["car", "bike", "boat"], several=True, most=2, epsilon=2.0)
    >>> owns.mechanism
    PrivSet(k=3, most=2, epsilon=2.0, w=1)
    >>> report = owns.encode({"car", "bike"})
    >>> counts = owns.count(owns.encode_many([["car"], "car;bike", [], {"bike"}]))
    >>> owns.simulate({("car", "bike"): 4000, "bike": 3000, (): 3000}).n
    10000
    """

    mechanism: Any  # a SetMechanism
    most: int
    more: More

    def __init__(
        self,
        name: str,
        labels: Sequence[str] = (),
        mechanism: SetMechanism[Any] = LEFT_OPEN,
        text: str = "",
        *,
        epsilon: float | None = None,
        several: bool = True,
        most: int | None = None,
        more: More = "refuse",
        pairs: bool = False,
        ordered: bool = False,
        **others: Any,
    ) -> None:
        self._set(name=name, mechanism=mechanism, text=text, ordered=ordered, why=GIVEN, scale=None)
        check_name(name, "a question")
        check_text(text, f"the text of {self.called}", allowed="\n\t")
        for other in others:
            raise ValueError(f"{self.called} takes several answers: {other} is for one answer")
        if not isinstance(ordered, bool):
            raise TypeError(f"ordered must be True or False, not {shown(ordered)}")
        self._set(labels=as_tuple(labels, f"labels of {self.called}"))
        if not self.labels:
            raise ValueError(f"{self.called} takes several answers, and needs labels for them")
        if more not in get_args(More):
            raise ValueError(f"more must be 'refuse' or 'sample', not {shown(more)}")
        if isinstance(mechanism, PrivSet) and most is None:
            most = mechanism.most
        k = len(self.labels)
        self._set(most=k if most is None else whole(most, "most", 1, k), more=more)
        self.known.check()
        if mechanism is None:
            if epsilon is None:
                raise ValueError(
                    f"{self.called} needs a mechanism, or an epsilon to have one chosen"
                )
            found = choose_for_sets(k, self.most, epsilon, pairs=pairs, more=more)
            self._set(mechanism=found.mechanism, why=found.why)
        elif epsilon is not None or pairs:
            raise ValueError(
                f"{self.called} has a mechanism: leave epsilon and pairs out, or leave the "
                "mechanism out to have one chosen"
            )
        self._check_mechanism(None)

    def _check_mechanism(self, is_open: Any) -> None:
        """Refuse a mechanism that does not fit the labels."""
        mechanism, called = self.mechanism, self.called
        if not isinstance(mechanism, SetMechanism):
            raise TypeError(
                f"{called} takes several answers, and {shown(mechanism)} takes one: leave the "
                "mechanism out, or use PrivSet or OneLabel"
            )
        if mechanism.k != len(self.labels):
            raise ValueError(
                f"{called} has {len(self.labels)} labels, "
                f"but its mechanism {mechanism} takes {mechanism.k}"
            )
        if isinstance(mechanism, PrivSet) and (mechanism.most, mechanism.more) != (
            self.most,
            self.more,
        ):
            raise ValueError(
                f"{called} takes at most {self.most} answers (more={self.more!r}), but its "
                f"mechanism {mechanism} at most {mechanism.most} (more={mechanism.more!r})"
            )

    @property
    def _written(self) -> tuple[Any, ...]:
        return *super()._written, self.most, self.more

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer."""
        return False

    @property
    def others(self) -> str:
        """What else a person may have answered, as a promise says it."""
        return "any other ticks, however many"

    def _labels(self) -> Choices:
        most = self.most if self.more == "refuse" else len(self.labels)
        return Choices(self.labels, self.called, most)

    @property
    def _choices(self) -> Choices:
        return cast(Choices, self.known)

    def with_mechanism(self, mechanism: SetMechanism[Any]) -> Self:  # type: ignore[override]
        """Return the same question with another mechanism for the same answers."""
        other = copy.copy(self)
        other._set(mechanism=mechanism, why=GIVEN)
        other._check_mechanism(None)
        return other

    def answer(self, label: Any) -> Ticks:
        """Return the numbers of the labels that were ticked; errors do not quote them."""
        return ticks_in(label, self._choices)

    def place_of(self, value: object) -> int | None:
        """Return the number of the first label of an answer, or None if it is none."""
        try:
            ticks = self.answer(value)
        except ValueError:
            return None
        return ticks[0] if ticks else 0

    def label_of(self, value: object) -> str | None:
        """Return an answer as text, or None if it is none."""
        try:
            return text_of(self.answer(value), self.labels)
        except ValueError:
            return None

    def coded_answers(  # type: ignore[override]
        self,
        answers: object,
        *,
        missing: str | None = None,
        drop_missing: bool = False,
        unknown: str | None = None,
    ) -> tuple[NDArray[np.integer[Any]], list[Ticks]]:
        """Return answers as codes, and the sets that the codes stand for.

        ``missing`` is the answer of people who gave none, such as ";" for no tick. ``unknown``
        names a label for ticks that are no labels.
        """
        if not isinstance(drop_missing, bool):
            raise TypeError(f"drop_missing must be True or False, not {shown(drop_missing)}")
        if drop_missing and missing is not None:
            raise ValueError(
                "missing is an answer for those that are missing, and drop_missing leaves them "
                "out: choose one of the two"
            )
        given = None if missing is None else self.answer(missing)
        other = None
        if unknown is not None and (other := self.known.find(unknown)) is None:
            raise ValueError(f"unknown must be one of the labels of {self.called}")
        codes, sets = coded_sets(
            answers,
            self.known,
            lambda value: ticks_in(value, self._choices, other),
            given,
        )
        if not drop_missing:
            refuse_missing(codes)
        return codes, sets

    def numbers(
        self, answers: object, *, missing: str | None = None, unknown: str | None = None
    ) -> Integers:
        """Return the number of ticks of each person; what is no answer is refused."""
        codes, sets = self.coded_answers(answers, missing=missing, unknown=unknown)
        return np.asarray(np.array([len(ticks) for ticks in sets], np.int64)[codes])

    def simulate(self, people: object, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population; the cost grows with the number of different sets.

        ``people`` says how many have each set: a mapping from tuples of labels, or from texts with
        ";" between them, to numbers; a labelled Series; or pairs of a set and a number. With
        ``pairs``, everybody is encoded, and the time grows with the people.
        """
        pairs = pairs_of(people, "people")
        if pairs is None:
            if isinstance(people, str | bytes) or not isinstance(people, Iterable):
                raise TypeError(
                    f"people of {self.called} is a mapping from tuples of labels to numbers of "
                    f"people, not of type {type(people).__name__}"
                )
            pairs = [_pair(entry) for entry in people]
        sets = []
        for answer, number in pairs:
            try:
                sets.append((self.answer(answer), number))
            except ValueError as error:
                raise ValueError(f"people has the answer {shown(answer)}: {error}") from None
        found: Counts = self.mechanism.simulate(sets, random)
        return found

    def estimate(
        self,
        counts: Counts,
        estimator: Any = None,
        *,
        candidates: Iterable[str] | None = None,
        complete: bool = False,
    ) -> Estimate:
        """Estimate the share of people who ticked each label: see `murmurs.TicksEstimate`."""
        found = super().estimate(counts, estimator, candidates=candidates, complete=complete)
        if self.more == "refuse" or not isinstance(self.mechanism, PrivSet):
            return found
        return dataclasses.replace(found, notes=(*found.notes, SAMPLED.format(most=self.most)))

    def to_document(self) -> dict[str, Any]:
        """Return the question as plain values for JSON."""
        document = {
            "name": self.name,
            "text": self.text,
            "labels": list(self.labels),
            "several": True,
            "most": self.most,
            "more": self.more,
            "mechanism": self.mechanism.to_document(),
        }
        return document | ({"ordered": True} if self.ordered else {})


def _pair(entry: Any) -> tuple[Any, Any]:
    if not isinstance(entry, tuple | list) or len(entry) != 2 or isinstance(entry, Mapping):
        raise TypeError("people are pairs of a set of labels and a number, such as (['car'], 10)")
    return entry[0], entry[1]
