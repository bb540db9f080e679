"""Counts: how many reports there are and what they add up to; `+` and `pool` combine them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from murmurs.boundary.checks import integers, real, shown, whole
from murmurs.boundary.labelled import in_order, in_table
from murmurs.boundary.texts import numbered
from murmurs.channels.channel import MOST_PEOPLE, Channel
from murmurs.numerics.arrays import Integers, first_outside


class CountedMechanism(Protocol):
    """What counts need to know about the mechanism whose reports they count."""

    @property
    def channel(self) -> Channel:
        """The distribution of the count cells given the answer."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the answers, if the mechanism knows them."""
        ...

    @property
    def is_longitudinal(self) -> bool:
        """Whether the reports of one person share a permanent response."""
        ...

    def repeated(self, times: float) -> Channel:
        """Return the distribution of the cells when each person reports this many times."""
        ...

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> CountedMechanism:
        """Return an open mechanism viewed over candidates."""
        ...

    def select(self, questions: tuple[int, ...]) -> CountedMechanism:
        """Return the mechanism of some of several questions asked together."""
        ...

    def to_document(self) -> dict[str, Any]:
        """Return the mechanism as plain values for JSON."""
        ...


@dataclass(frozen=True, eq=False)
class Counts:
    """``n`` reports of a mechanism, added up in ``cells``: ``times`` reports from each person.

    Only mechanisms that keep a permanent response (such as `murmurs.LOSUE`) have several
    reports from each person; `pool` makes such counts. If some people reported more often than
    others, ``times`` is a float: the average over all reports of how many its person sent.
    ``again`` is the same average for people who were asked again with noise of its own each time:
    the noise averages out, but the people are no new sample. See `murmurs.survey.rounds_of`.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=3, epsilon=1.0)
    >>> rr.count(np.array([0, 2, 2])) + rr.count(np.array([1]))
    Counts(mechanism=KRR(k=3, epsilon=1.0), n=4, cells=array([1, 1, 2]))
    """

    mechanism: CountedMechanism
    n: int
    cells: Integers
    times: int | float = 1
    again: float = 1.0

    def __post_init__(self) -> None:
        if not hasattr(self.mechanism, "repeated"):
            raise TypeError(
                f"counts are of a mechanism, not of {shown(self.mechanism)}: pass that of a "
                "question as question.mechanism"
            )
        object.__setattr__(self, "n", whole(self.n, "n", 0, MOST_PEOPLE))
        object.__setattr__(self, "again", real(self.again, "again", 1, 2**31))
        if isinstance(self.times, float):
            object.__setattr__(self, "times", real(self.times, "times", 1, 2**31))
        else:
            object.__setattr__(self, "times", whole(self.times, "times", 1, 2**31))
        if isinstance(self.times, int) and self.n % self.times:
            raise ValueError(
                f"{numbered(self.n, 'report')} cannot be {self.times} from each person: "
                "times is how often each person reported, and must divide n"
            )
        channel = self.mechanism.repeated(self.times)
        given = integers(self._without_labels(channel), "cells", ndim=None)
        if given.shape != channel.cells:
            raise ValueError(
                f"cells of {self.mechanism} have shape {channel.cells}, not {given.shape}"
            )
        bad = first_outside(given.ravel(), 0, self.n)
        if bad:
            at = tuple(int(i) for i in np.unravel_index(bad[0], given.shape))
            where = at[0] if len(at) == 1 else at
            raise ValueError(
                f"cell {where} is {bad[1]}, outside 0..{self.n} of {numbered(self.n, 'report')}"
            )
        cells = given.astype(np.int64)
        why_impossible = channel.why_impossible(cells, self.n)
        if why_impossible is not None:
            raise ValueError(f"{why_impossible} of {self.mechanism}")
        cells.flags.writeable = False
        object.__setattr__(self, "cells", cells)

    def _without_labels(self, channel: Channel) -> Any:
        """Return the cells in order; labelled ones, as from ``value_counts()``, by their labels."""
        if len(channel.cells) > 1:
            return in_table(self.cells, "cells", self.mechanism)
        return in_order(self.cells, channel.cells[0], (), "cells", self.mechanism)

    @cached_property
    def channel(self) -> Channel:
        """The distribution of the cells, given the answer and the people in each cohort."""
        return self.mechanism.repeated(self.times).conditioned_on(self.cells)

    @property
    def people(self) -> int:
        """The number of people who reported; if ``times`` is an average, as many as it amounts to.

        People who were asked again with new noise count again.
        """
        return int(self.n // self.times)

    @property
    def assumption(self) -> str | None:
        """What estimates assume about whose reports these are, if it matters."""
        if not self.mechanism.is_longitudinal:
            return None
        if self.times == 1:
            return f"assumes {numbered(self.people, 'person')} with one report each"
        if isinstance(self.times, float):
            return f"assumes {self.times:.3g} reports from each person, on average over the reports"
        return f"assumes {numbered(self.people, 'person')} with {self.times} reports each"

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Counts:
        """Return counts of an open question, viewed over a list of candidates.

        All other strings are one more answer, "(other)". With ``complete`` there is no such
        answer: nobody holds a string that is not listed.

        >>> import murmurs as mm
        >>> rr = mm.ORR(epsilon=2.0, width=8, cohorts=16)
        >>> counts = rr.count(rr.encode_many(["tea", "coffee", "tea"])).over(["tea", "milk"])
        >>> counts.mechanism.labels
        ('tea', 'milk', '(other)')
        """
        over = self.mechanism.over(candidates, complete=complete)
        return Counts(over, self.n, self.cells, self.times, self.again)

    def margin(self, *questions: int) -> Counts:
        """Return the counts of some of the questions of a joint table, such as one of them.

        >>> import murmurs as mm
        >>> both = mm.Product([mm.KRR(k=2, epsilon=1.0), mm.KRR(k=3, epsilon=1.0)])
        >>> both.count([(0, 2), (1, 2)]).margin(1)
        Counts(mechanism=KRR(k=3, epsilon=1.0), n=2, cells=array([0, 0, 2]))
        """
        mechanism = self.mechanism.select(questions)  # refuses what are no questions
        if list(questions) != sorted(questions):
            given = ", ".join(map(str, questions))
            raise ValueError(
                f"questions of a margin are in the order of the table, not {given}: say "
                f"{', '.join(map(str, sorted(questions)))}"
            )
        if mechanism == self.mechanism:
            return self  # all of them
        if questions not in self._margins:
            cells = self.mechanism.channel.margin(self.cells, questions)
            self._margins[questions] = Counts(mechanism, self.n, cells, self.times, self.again)
        return self._margins[questions]

    @cached_property
    def _margins(self) -> dict[tuple[int, ...], Counts]:
        """The margins that were asked for: estimators, tests and tables share them."""
        return {}

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return self if isinstance(other, int) and other == 0 else NotImplemented  # for sum()
        if self.mechanism == other.mechanism and self.mechanism.is_longitudinal:
            raise ValueError(
                f"counts of {self.mechanism} may come from the same people, whose permanent noise "
                'does not average out: use murmurs.pool([a, b], people="different") if they come '
                'from different people, murmurs.pool([a, b], people="same") if from the same'
            )
        return _added([self, other], self.times)

    __radd__ = __add__

    def __repr__(self) -> str:
        more = f", times={self.times}" if self.times != 1 else ""
        more += f", again={self.again}" if self.again > 1 else ""
        return f"Counts(mechanism={self.mechanism!r}, n={self.n}, cells={self.cells!r}{more})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        same = (self.mechanism, self.n, self.times) == (other.mechanism, other.n, other.times)
        return same and self.again == other.again and np.array_equal(self.cells, other.cells)

    __hash__ = None  # type: ignore[assignment]

    def to_document(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON."""
        document = {
            "mechanism": self.mechanism.to_document(),
            "n": self.n,
            "cells": self.cells.tolist(),
        }
        document |= {"times": self.times} if self.times > 1 else {}
        return document | ({"again": self.again} if self.again > 1 else {})


People = Literal["different", "same"]
"""Whether several counts come from different people, or from the same people again."""


def pool(counts: Iterable[Counts], *, people: People) -> Counts:
    r"""Combine several counts of a mechanism, of different people or of the same people again.

    ``"different"``: nobody is in two of them, and each person reported equally often. This is `+`,
    for longitudinal mechanisms too. ``"same"``: each counts the very same people, with the
    permanent response they had before. Then only the noise that is fresh in every report averages
    out. If answers, and so responses, changed in between, intervals are wider than necessary.

    >>> import murmurs as mm
    >>> losue = mm.LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.0)
    >>> weeks = [losue.count(reports) for reports in ([b"\x01", b"\x02"], [b"\x01", b"\x03"])]
    >>> pool(weeks, people="same")
    Counts(mechanism=LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.0), n=4, cells=array([3, 2, 0]),
    times=2)
    """
    if people not in ("different", "same"):
        raise ValueError(f"people must be 'different' or 'same', not {people!r}")
    parts = list(counts)
    if not parts:
        raise ValueError("there are no counts to pool")
    for part in parts:
        if not isinstance(part, Counts):
            raise TypeError(f"pool takes Counts, not {type(part).__name__}: see mechanism.count")
    first = parts[0]
    if people == "different":
        for part in parts:
            if part.times != first.times:
                raise ValueError(
                    f"cannot pool counts of {first.times} and of {part.times} reports from each "
                    "person: all need the same number of reports per person. Estimate them "
                    "separately with the estimator `unbiased`, and average the shares"
                )
        return _added(parts, first.times)
    if not first.mechanism.is_longitudinal:
        raise ValueError(
            f"{first.mechanism} keeps no permanent response: add the counts with +, which is right "
            "for the shares of the respondents, as the noise is fresh in every report"
        )
    for part in parts:
        _check_same_people(first, part)
    return _added(parts, sum(part.times for part in parts))


def _check_same_people(first: Counts, other: Counts) -> None:
    """Refuse counts that cannot come from the same people."""
    _check_addable(first, other)
    way = (
        "estimate the counts separately, or count only those who reported every time if the "
        "transport has pseudonyms that say who they are"
    )
    if first.people != other.people:
        raise ValueError(
            f"counts of {first.people} and of {other.people} people are not from the same people: "
            + way
        )
    before, then = (c.channel.groups(c.cells) // c.times for c in (first, other))
    for row in np.flatnonzero(before != then)[:1]:
        raise ValueError(
            f"cohort {row} has {before[row]} people in one of the counts and {then[row]} in "
            f"another, but the same people stay in their cohorts: {way}"
        )


def _check_addable(first: Counts, other: Counts) -> None:
    for counts in (first, other):
        if counts.again > 1 or isinstance(counts.times, float):
            raise ValueError(
                "counts of people of whom some reported more often than others cannot be added to "
                "others: add the counts of single rounds"
            )
    if other.mechanism != first.mechanism:
        raise ValueError(f"cannot add counts of {other.mechanism} to counts of {first.mechanism}")


def _added(parts: Sequence[Counts], times: int | float) -> Counts:
    """Return counts added cell by cell; they must be of one mechanism."""
    first = parts[0]
    for part in parts:
        _check_addable(first, part)
    cells = np.sum([part.cells for part in parts], axis=0)
    return Counts(first.mechanism, sum(part.n for part in parts), cells, times)
