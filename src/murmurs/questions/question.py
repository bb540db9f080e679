"""Question: what is asked, the possible answers, and the mechanism that randomises them.

It is the front door: labels go in and labelled shares come out. `encode` and `encode_many` turn
labels into private reports, `count` adds reports up, `simulate` draws the counts of a population,
and `estimate` turns counts into shares.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs import estimators, mechanisms
from murmurs.boundary.answers import coded, without_empty
from murmurs.boundary.checks import shown, whole
from murmurs.boundary.frames import MISSING, Coded
from murmurs.boundary.labelled import in_order, pairs_of
from murmurs.boundary.labels import Labels, refuse_missing
from murmurs.boundary.texts import as_tuple, check_name, check_text, listed
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.mechanisms.designs.known import YES_NO, says_no_first
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.sets.privset import More
from murmurs.mechanisms.sets.sets import SetMechanism
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.numerics.arrays import Integers
from murmurs.planning.choice import CANDIDATES, Goal, choose_for, choose_open
from murmurs.questions.asked import GIVEN
from murmurs.questions.numbers import Buckets
from murmurs.questions.single import Single
from murmurs.randomness.sources import ChanceInBulk
from murmurs.scales.making import Written, scale_of_labels, scale_of_numbers
from murmurs.scales.scale import Outside, Scale


@dataclass(frozen=True, init=False, eq=False)
class Question(Single):
    """A question with its answers and its mechanism; answer j has labels[j].

    Name the mechanism, or give ``epsilon`` and have one chosen; `why` says why it was. Without
    labels the question is open: any string is an answer, and ``people`` (how many will answer) is
    needed to tune it. An open question with labels has these as its candidates: people may give
    any string, and `estimate` looks for the listed ones.

    ``ordered`` labels, as on a rating, keep their order in tables and plots, and count as 1, 2, ...
    in a mean unless they are numbers or have ``scores``; ``circular`` ones, such as weekdays, have
    no first and no last.

    With a ``range``, answers are numbers, dates or durations, which are put into buckets of a
    ``width``, into so many ``buckets``, or between ``edges``, which may be infinite at the ends.
    Whole numbers make buckets such as 5 to 9; ``whole`` says otherwise. Numbers outside are refused
    unless ``outside="clamp"`` puts them into the nearest bucket. With ``durations``, numbers are
    seconds and shown as hours, minutes and seconds. ``unit`` is shown beside numbers. ``scale`` is
    that of another question, in place of all this. The ``goal`` says which mechanism is chosen:
    "scale", usual for numbers that are not circular, if the mean, quantiles and shares of ranges
    are wanted; "buckets", usual for labels, if the share of each answer is.

    With ``several``, an answer is a set of labels, of which at most ``most`` may be ticked, by
    default all. ``more="sample"`` keeps ``most`` of those that somebody ticked, at random, where
    answers with more are refused otherwise. With ``pairs``, counts show which labels go together.

    >>> drink = Question("drink", ["espresso", "filter", "tea", "nothing"], epsilon=1.0)
    >>> drink.mechanism, drink.why
    (KRR(k=4, epsilon=1.0), 'no other mechanism has a smaller error')
    >>> drink.encode("tea") in range(4)
    True
    >>> drink.estimate(drink.simulate({"tea": 9000, "filter": 1000}, np.random.default_rng(1)))
    Estimate(n=10000, estimator='shrinkage', {tea: 0.894, filter: 0.105, espresso: 0.000763, ...})
    >>> Question("age", range=(0, 100), width=5, epsilon=1.0).labels[7]
    '35 to 39'
    """

    name: str
    labels: tuple[str, ...]
    mechanism: Mechanism[Any] | OpenMechanism[Any]
    text: str
    ordered: bool
    scale: Scale | None = field(repr=False)
    why: str = field(init=False, compare=False, repr=False)

    def __new__(cls, *_: Any, several: bool = False, **__: Any) -> Self:
        """Make a question whose answers are sets of labels, if people may tick several."""
        if several is True and cls is Question:
            from murmurs.questions.several.question import Several  # which is a Question

            return cast(Self, object.__new__(Several))
        return object.__new__(cls)

    def __init__(
        self,
        name: str,
        labels: Sequence[str] = (),
        mechanism: Mechanism[Any] | OpenMechanism[Any] | SetMechanism[Any] = LEFT_OPEN,
        text: str = "",
        *,
        epsilon: float | None = None,
        people: int | None = None,
        open: bool | None = None,  # noqa: A002
        ordered: bool = False,
        range: Any = None,  # noqa: A002
        width: Any = None,
        buckets: int | None = None,
        edges: Any = None,
        scores: Any = None,
        whole: bool | None = None,
        durations: bool = False,
        outside: Outside = "refuse",
        circular: bool = False,
        unit: str = "",
        scale: Scale | None = None,
        goal: Goal | None = None,
        several: bool = False,
        most: int | None = None,
        more: More = "refuse",
        pairs: bool = False,
    ) -> None:
        self._set(name=name, mechanism=mechanism, text=text, ordered=ordered, why=GIVEN, scale=None)
        check_name(name, "a question")
        check_text(text, f"the text of {self.called}", allowed="\n\t")
        self._set(labels=as_tuple(labels, f"labels of {self.called}"))
        if not isinstance(ordered, bool):
            raise TypeError(f"ordered must be True or False, not {shown(ordered)}")
        if not isinstance(open, bool | None):
            raise TypeError(f"open must be True or False, not {shown(open)}")
        if several is not False:
            raise TypeError(f"several must be True or False, not {shown(several)}")
        if most is not None or more != "refuse" or pairs:
            raise ValueError(
                f"{self.called} takes one answer: most, more and pairs are for several=True"
            )
        written = Written(
            range, width, buckets, edges, scores, whole, durations, outside, circular, unit, scale
        )
        written.check(self.called, ordered=ordered)
        about_scale = self._put_into_buckets(written, epsilon, people, open)
        self._labels().check()  # a design may still give its own
        if mechanism is None:
            self._choose(epsilon, people, open, self._goal(goal, written))
            self._set(why="; ".join(filter(None, [self.why, about_scale])))
        elif not (epsilon is people is None and goal is None):
            raise ValueError(
                f"{self.called} has a mechanism: leave epsilon, people and goal out, or leave the "
                "mechanism out to have one chosen"
            )
        if isinstance(self.mechanism, mechanisms.Design):
            self._share_labels(self.mechanism)
        self._check_mechanism(open)
        if self.ordered and self.scale is None and not self.is_open:
            self._set(scale=scale_of_labels(self.labels, written, self.called))

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def _written(self) -> tuple[Any, ...]:
        """What a survey writes: questions that are written alike are equal."""
        return self.name, self.labels, self.mechanism, self.text, self.ordered, self.scale

    def _put_into_buckets(self, written: Written, epsilon: Any, people: Any, is_open: Any) -> str:
        """Set the scale if answers are numbers, with its labels; return why it has its buckets."""
        if not written.has_numbers:
            return ""
        if is_open or self.is_open:
            raise ValueError(f"{self.called} has numbers for answers: it cannot be open, too")
        if people is not None:
            people = whole(people, "people", 1, MOST_PEOPLE)
        scale, why = scale_of_numbers(written, self.called, epsilon, people)
        self._set(scale=scale, labels=self.labels or scale.labels, ordered=True)
        return why

    def with_mechanism(self, mechanism: Mechanism[Any] | OpenMechanism[Any]) -> Self:
        """Return the same question with another mechanism for the same answers."""
        other = copy.copy(self)
        other._set(mechanism=mechanism, why=GIVEN)
        if isinstance(mechanism, mechanisms.Design):
            other._share_labels(mechanism)
        other._check_mechanism(None)
        return other

    def _goal(self, goal: Any, written: Written) -> Goal:
        """Return what is wanted of the answers, as given or as is usual for them."""
        circular = written.circular if self.scale is None else self.scale.circular
        if goal is None:
            return "scale" if self.has_numbers and not circular else "buckets"
        if goal not in get_args(Goal):
            raise ValueError(f"goal must be 'scale' or 'buckets', not {shown(goal)}")
        if goal == "scale" and (circular or not self.ordered):
            raise ValueError(
                f"{self.called} has {'a circular scale' if circular else 'no scale'}: goal='scale' "
                "is for the mean and the quantiles of numbers and of ordered labels"
            )
        return cast(Goal, goal)

    def _choose(self, epsilon: Any, people: Any, is_open: Any, goal: Goal) -> None:
        """Choose the mechanism from epsilon, and for an open question from the number of people."""
        called = self.called
        if epsilon is None:
            raise ValueError(f"{called} needs a mechanism, or an epsilon to have one chosen")
        if is_open or not self.labels:
            if people is None:
                raise ValueError(
                    f"{called} is open: say how many people will answer, as people=100_000, to "
                    "have its mechanism tuned; or list its labels"
                )
            people = whole(people, "people", 1, MOST_PEOPLE)
            found = choose_open(epsilon, people, max(len(self.labels), CANDIDATES))
        else:
            if people is not None and not self.has_numbers:
                raise ValueError(f"{called} has labels: people is for open questions, leave it out")
            if len(self.labels) == 1:
                raise ValueError(f"{called} has one label: a question needs at least two")
            found = choose_for(goal, len(self.labels), epsilon)
        self._set(mechanism=found.mechanism, why=found.why)

    def _share_labels(self, design: mechanisms.Design) -> None:
        """Take the labels of the design, or give it those of the question for its default ones."""
        if not self.labels:
            self._set(labels=design.labels)
            return
        has_default = design.labels == YES_NO and len(self.labels) == 2
        if has_default and self.labels != YES_NO and not says_no_first(self.labels):
            reports = self.labels if design.reports == YES_NO else design.reports
            renamed = dataclasses.replace(design, labels=self.labels, reports=reports)
            self._set(mechanism=renamed)

    @cached_property
    def known(self) -> Labels:
        """The labels, and what else stands for an answer."""
        return self._labels()

    def _labels(self) -> Labels:
        if self.has_numbers:
            return Buckets(self.labels, self.called, cast(Scale, self.scale))
        return Labels(self.labels, self.called)

    @property
    def meaning(self) -> tuple[str, ...]:
        """What the numbers in reports and counts stand for: labels, or the numbers of buckets."""
        return cast(Scale, self.scale).labels if self.has_numbers else super().meaning

    def _check_mechanism(self, is_open: Any) -> None:
        """Refuse a mechanism that does not fit the labels."""
        mechanism, called = self.mechanism, self.called
        if isinstance(mechanism, OpenMechanism):
            if is_open is False:
                raise ValueError(f"{called} is not open, but {mechanism} takes any string")
            if self.labels:
                mechanism.over(self.labels)
            return
        if not isinstance(mechanism, Mechanism):
            way = "a mechanism is made like KRR(k=4, epsilon=1.0)"
            if isinstance(mechanism, int | float):
                way = f"for an epsilon, write epsilon={mechanism:g}"
            raise TypeError(f"{called} has {shown(mechanism)} for a mechanism: {way}")
        if isinstance(mechanism, mechanisms.Over):
            raise ValueError(
                f"{called} has a mechanism over candidates, {mechanism}: ask with "
                f"{mechanism.mechanism} and without labels; give candidates when estimating"
            )
        if is_open:
            raise ValueError(f"{called} is open, but {mechanism} has a fixed list of answers")
        if len(self.labels) != mechanism.k:
            raise ValueError(
                f"{called} has {len(self.labels)} labels, "
                f"but its mechanism {mechanism} takes {mechanism.k} answers"
            )
        if mechanism.labels and mechanism.labels != self.labels:
            raise ValueError(
                f"{called} has the labels {listed(self.labels)}, but its mechanism has "
                f"{listed(mechanism.labels)}: name the answers of the design in its own order, as "
                "labels=[...], and leave them out of the question"
            )

    def answer(self, label: Any) -> Any:
        """Return the number of the answer with this label; errors do not quote the label.

        If answers are numbers, it is that of the bucket that a number falls into. If the question
        is open, any string is an answer: it is returned in its normal form.
        """
        if isinstance(self.mechanism, OpenMechanism):
            return self.mechanism.check(label)
        if not (isinstance(label, str) or self.has_numbers):
            raise TypeError(
                f"an answer to {shown(self.name)} is one of its labels, a string, not of type "
                f"{type(label).__name__}"
            )
        number = self.known.find(label)
        if number is None:
            raise ValueError(f"this is not an answer to {shown(self.name)}; {self.known.rule}")
        return number

    def place_of(self, value: object) -> int | None:
        """Return the number of the answer that a value stands for, or None if it stands for none.

        Booleans stand for yes and no, whole numbers for labels that are numbers. If answers are
        numbers, a number stands for its bucket.
        """
        return self.known.find(value)

    def coded_answers(
        self,
        answers: object,
        *,
        missing: str | None = None,
        drop_missing: bool = False,
        unknown: str | None = None,
    ) -> tuple[NDArray[np.integer[Any]], Integers | list[str]]:
        """Return answers as codes, and the table of what the codes stand for.

        Answers are labels. Booleans stand for the labels yes and no (or true and false), whole
        numbers for labels that are numbers. Of an open question, answers are strings.
        """
        if not isinstance(drop_missing, bool):
            raise TypeError(f"drop_missing must be True or False, not {shown(drop_missing)}")
        if drop_missing and missing is not None:
            raise ValueError(
                "missing names a label for missing answers, and drop_missing leaves them out: "
                "choose one of the two"
            )
        if isinstance(self.known, Buckets):
            return self.known.coded(answers, missing, drop_missing, unknown)
        column = coded(answers)
        if isinstance(self.mechanism, OpenMechanism):
            if drop_missing:
                column = without_empty(column)
            return self._coded_texts(column, missing, drop_missing, unknown)
        table = self.known.table(column.values, missing, unknown)
        if int(table.min()) < 0:
            self.known.refuse_bad(column.codes, table, drop_missing)
        return column.codes, table

    def _coded_texts(
        self, column: Coded, missing: str | None, drop_missing: bool, unknown: str | None
    ) -> tuple[NDArray[np.integer[Any]], list[str]]:
        mechanism = cast("OpenMechanism[Any]", self.mechanism)
        if unknown is not None:
            raise ValueError(f"{self.called} is open and takes any string: leave unknown out")
        codes, values = column.codes, list(column.values)
        if missing is not None:
            values.append(missing)
            codes = np.where(codes == MISSING, len(values) - 1, codes)
        elif not drop_missing:
            refuse_missing(codes)
        texts: list[str] = []
        for number, value in enumerate(values):
            try:
                texts.append(mechanism.check(value))
            except (TypeError, ValueError) as error:
                used = np.flatnonzero(codes == number)
                if len(used):
                    empty = isinstance(value, str) and not value
                    way = ": leave such answers out with drop_missing=True" if empty else ""
                    raise type(error)(f"answer number {int(used[0])}: {error}{way}") from None
                texts.append("unused")
        return codes, texts

    def simulate(self, people: object, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population; the cost does not grow with it.

        ``people`` says how many hold each answer: a mapping from label to number, a labelled
        Series, or a list in the order of the labels. If answers are numbers, a mapping or Series
        may have the numbers themselves. For an open question it is a mapping or a Series with the
        strings as labels; those that are reported alike are added up.
        """
        if isinstance(self.mechanism, OpenMechanism):
            pairs = pairs_of(people, "people")
            if pairs is None:
                raise TypeError(
                    f"{self.called} is open: people is a mapping from string to number of people, "
                    "or a labelled Series such as value_counts()"
                )
            return self.mechanism.simulate_strings(pairs, random)
        if isinstance(self.known, Buckets) and (pairs := pairs_of(people, "people")) is not None:
            return self.mechanism.simulate(self.known.added_up(pairs), random)
        k = self.mechanism.k
        given = in_order(people, k, self.labels, "people", self.called, self.place_of)
        return self.mechanism.simulate(given, random)

    def estimate(
        self,
        counts: Counts,
        estimator: estimators.Estimator | None = None,
        *,
        candidates: Iterable[str] | None = None,
        complete: bool = False,
    ) -> Estimate:
        """Estimate the shares, labelled; for an open question, those of the candidates.

        ``estimator`` names one instead of the default. ``candidates`` are the strings to look
        for, by default the question's labels; with ``complete`` nobody holds any other string.
        """
        if not isinstance(counts, Counts):
            raise TypeError(
                f"estimate takes Counts, not {type(counts).__name__}: add reports up first, "
                "question.count(reports)"
            )
        if counts.mechanism != self.mechanism:
            same = f"{counts.mechanism}" == f"{self.mechanism}"  # a design is shown by its size
            raise ValueError(
                f"counts of {counts.mechanism} are not answers to {self.called}, which has "
                f"{self.mechanism}{' with other probabilities or labels' if same else ''}"
            )
        if self.is_open:
            given = self.labels if candidates is None else candidates
            wanted = as_tuple(given, "candidates")
            if not wanted:
                raise ValueError(
                    f"{self.called} is open: say which strings to look for, with candidates=[...]"
                )
            found = estimators.estimate(counts.over(wanted, complete=complete), estimator)
        else:
            if candidates is not None or complete:
                raise ValueError(f"{self.called} has labels: it takes no candidates")
            found = estimators.estimate(counts, estimator, labels=self.labels, scale=self.scale)
        return self.described(found)

    def to_document(self) -> dict[str, Any]:
        """Return the question as plain values for JSON."""
        document = {
            "name": self.name,
            "text": self.text,
            "labels": list(self.labels),
            "mechanism": self.mechanism.to_document(),
        }
        if self.has_numbers:
            return document | cast(Scale, self.scale).to_document()
        own = self.scale.to_document() if self.scale is not None else {}
        own = {} if self.scale == self._usual_scale else own
        return document | ({"ordered": True} if self.ordered else {}) | own

    @property
    def _usual_scale(self) -> Scale | None:
        """The scale of ordered labels about which nothing is said."""
        if self.scale is None:
            return None
        return scale_of_labels(self.labels, Written(), self.called)
