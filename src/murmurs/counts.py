"""Counts: how many reports there are, and what they add up to; two of them can be added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from murmurs.channel import MOST_PEOPLE, Channel
from murmurs.checks import Integers, first_outside, integers, whole
from murmurs.labelled import in_order, in_table


class Maker(Protocol):
    """What counts need to know of the mechanism whose reports they count."""

    @property
    def channel(self) -> Channel:
        """The law of the cells."""
        ...

    def to_document(self) -> dict[str, Any]:
        """Return the mechanism as plain values for JSON."""
        ...


@dataclass(frozen=True, eq=False)
class Counts:
    """``n`` reports of a mechanism, added up in ``cells``.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=3, epsilon=1.0)
    >>> rr.count(np.array([0, 2, 2])) + rr.count(np.array([1]))
    Counts(mechanism=KRR(k=3, epsilon=1.0), n=4, cells=array([1, 1, 2]))
    """

    mechanism: Maker
    n: int
    cells: Integers

    def __post_init__(self) -> None:
        channel = self.mechanism.channel
        object.__setattr__(self, "n", whole(self.n, "n", 0, MOST_PEOPLE))
        given = integers(self._without_labels(channel), "cells", ndim=None)
        if given.shape != channel.cells:
            raise ValueError(
                f"cells of {self.mechanism} have shape {channel.cells}, not {given.shape}"
            )
        bad = first_outside(given.ravel(), 0, self.n)
        if bad:
            at = tuple(int(i) for i in np.unravel_index(bad[0], given.shape))
            where = at[0] if len(at) == 1 else at
            raise ValueError(f"cell {where} is {bad[1]}, outside 0..{self.n} of {self.n} reports")
        cells = given.astype(np.int64)
        complaint = channel.complaint(cells, self.n)
        if complaint is not None:
            raise ValueError(f"{complaint} of {self.mechanism}")
        cells.flags.writeable = False
        object.__setattr__(self, "cells", cells)

    def _without_labels(self, channel: Channel) -> Any:
        """Return the cells in their order; those with labels, as of ``value_counts()``, by them."""
        if len(channel.cells) > 1:
            return in_table(self.cells, "cells", self.mechanism)
        return in_order(self.cells, channel.cells[0], (), "cells", self.mechanism)

    @cached_property
    def channel(self) -> Channel:
        """The law of the cells given an answer, and given how many people each cohort has."""
        return self.mechanism.channel.given(self.cells)

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Counts:
        """Return counts of an open question as counts of a list of candidates, and of all others.

        With ``complete`` there are no others: nobody holds a string that is not listed.

        >>> import murmurs as mm
        >>> rr = mm.ORR(epsilon=2.0, width=8, cohorts=16)
        >>> counts = rr.count(rr.encode_many(["tea", "coffee", "tea"])).over(["tea", "milk"])
        >>> counts.mechanism.labels
        ('tea', 'milk', '(other)')
        """
        over = getattr(self.mechanism, "over", None)
        if over is None:
            raise TypeError(
                f"{self.mechanism} has its answers already: candidates are for open questions"
            )
        return Counts(over(candidates, complete=complete), self.n, self.cells)

    def through(self, channel: Channel) -> Counts:
        """Return the same counts with a channel that knows more, as which answers were chosen."""
        out = Counts(self.mechanism, self.n, self.cells)
        out.__dict__["channel"] = channel
        return out

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return self if isinstance(other, int) and other == 0 else NotImplemented  # for sum()
        if other.mechanism != self.mechanism:
            raise ValueError(
                f"cannot add counts of {other.mechanism} to counts of {self.mechanism}"
            )
        return Counts(self.mechanism, self.n + other.n, self.cells + other.cells)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        same = self.mechanism == other.mechanism and self.n == other.n
        return same and np.array_equal(self.cells, other.cells)

    __hash__ = None  # type: ignore[assignment]

    def to_document(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON."""
        return {
            "mechanism": self.mechanism.to_document(),
            "n": self.n,
            "cells": self.cells.tolist(),
        }
