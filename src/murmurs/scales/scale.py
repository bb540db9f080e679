"""Scale: which bucket a number falls into, and which numbers a bucket stands for.

A bucket of decimals holds its lower edge and not its upper one; only the last holds both. A bucket
of whole numbers, such as 5 to 9, ends before the lower edge of the next one. Dates are counted in
days since 1970-01-01, durations in seconds. Scores are numbers that labels stand for, as on a
rating from 1 to 5.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import check_text
from murmurs.numerics.arrays import Floats, Integers
from murmurs.scales.values import LARGEST, LAST_DAY, Kind, value_text, whole_period

Outside = Literal["refuse", "clamp"]
"""What happens to a number outside of all buckets: refused, or counted in the nearest one."""

MOST_BUCKETS = 1000
"""The most buckets: means and quantiles of so many are computed with their whole covariance."""

NOWHERE = -2
"""The place of a number that is in no bucket."""


@dataclass(frozen=True)
class Scale:
    """Buckets in their order: bucket j holds numbers from edges[j] up to edges[j + 1].

    The first edge may be minus infinity and the last one infinity, for open-ended buckets.
    ``whole`` numbers, and dates, have buckets such as 5 to 9. With ``outside="clamp"``, numbers
    below and above all buckets count in the first and the last one. On a ``circular`` scale, such
    as the hours of a day, the first bucket follows the last. ``unit`` is shown beside numbers.

    >>> age = Scale((0, 18, 65, math.inf), whole=True, unit="years")
    >>> age.labels, age.place(17), age.place(18), age.place(120)
    (('0 to 17', '18 to 64', '65 or more'), 0, 1, 2)
    """

    edges: tuple[float, ...]
    whole: bool = False
    kind: Kind = "numbers"
    outside: Outside = "refuse"
    circular: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        self._check_options()
        if not 2 <= self.k <= MOST_BUCKETS:
            has = f"{self.k} {'score' if self.kind == 'scores' else 'bucket'}"
            raise ValueError(
                f"a scale has from 2 to {MOST_BUCKETS:,} buckets, and this one has {has}"
                f"{'' if self.k == 1 else 's'}: {'add edges' if self.k < 2 else 'take wider ones'}"
            )
        for number, edge in enumerate(self.edges):
            self._check_edge(number, edge)

    def _check_options(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(
                f"kind must be one of {', '.join(get_args(Kind))}, not {shown(self.kind)}"
            )
        if self.outside not in get_args(Outside):
            raise ValueError(f"outside must be 'refuse' or 'clamp', not {shown(self.outside)}")
        for name in ("whole", "circular"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {shown(getattr(self, name))}")
        check_text(self.unit, "the unit of a scale")
        if self.circular and (self.outside == "clamp" or not math.isfinite(sum(self._ends))):
            raise ValueError(
                "a circular scale has neither open-ended buckets nor outside='clamp': its last "
                "bucket is followed by the first"
            )
        if self.kind == "scores" and self.outside == "clamp":
            raise ValueError("scores belong to labels, and no answer is outside: leave outside out")

    def _check_edge(self, number: int, edge: float) -> None:
        what = f"{'score' if self.kind == 'scores' else 'edge'} {number} of a scale"
        at_end = number in (0, len(self.edges) - 1) and self.kind != "scores"
        if not math.isfinite(edge) and not (at_end and edge == (math.inf if number else -math.inf)):
            raise ValueError(
                f"{what} is {edge}: only the first edge may be -inf and the last one inf"
            )
        if math.isfinite(edge) and abs(edge) > LARGEST:
            raise ValueError(f"{what} is {edge:g}: edges are at most 2**53, take larger units")
        if number and not self.edges[number - 1] < edge:
            before = self._text(self.edges[number - 1])
            raise ValueError(f"{what}, {self._text(edge)}, must be above the one before, {before}")
        if self.kind == "dates" and math.isfinite(edge) and edge > LAST_DAY:
            raise ValueError(f"{what} is after 9999-12-31, the last date that there is")
        if self.whole and math.isfinite(edge) and edge != int(edge):
            raise ValueError(f"{what} is {edge:g}, and edges between whole numbers are whole")

    @property
    def _ends(self) -> tuple[float, float]:
        return (self.edges[0], self.edges[-1]) if self.edges else (0.0, 0.0)

    @property
    def k(self) -> int:
        """The number of buckets."""
        return len(self.edges) - (self.kind != "scores")

    @cached_property
    def low(self) -> Floats:
        """The smallest number of each bucket; minus infinity if the first one is open-ended."""
        low = np.array(self.edges[: self.k], np.float64)
        if self.outside == "clamp":
            low[0] = -math.inf
        return low

    @cached_property
    def high(self) -> Floats:
        """The largest number of each bucket, or its upper edge; infinity if it is open-ended."""
        if self.kind == "scores":
            return self.low
        high = np.array(self.edges[1:], np.float64) - (1 if self.whole else 0)
        if self.outside == "clamp":
            high[-1] = math.inf
        return high

    @cached_property
    def middles(self) -> Floats:
        """The number that stands for each bucket in a mean; without two edges, the one it has."""
        if self.kind == "scores":
            return self.low
        low, high = np.array(self.edges[:-1]), np.array(self.edges[1:]) - (1 if self.whole else 0)
        low, high = np.where(np.isinf(low), high, low), np.where(np.isinf(high), low, high)
        return np.asarray((low + high) / 2)

    @property
    def widths(self) -> tuple[float, ...]:
        """How wide each bucket is, infinity without an end; scores are one apart."""
        if self.kind == "scores":
            return (1.0,) * self.k
        out = [high - low for low, high in itertools.pairwise(self.edges)]
        if self.outside == "clamp":
            out[0] = out[-1] = math.inf
        return tuple(out)

    @property
    def is_open_ended(self) -> bool:
        """Whether the first or the last bucket has no end, so that a mean depends on a choice."""
        return math.isinf(self.low[0]) or math.isinf(self.high[-1])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The buckets as tables show them."""
        return tuple(map(self._label, self.low.tolist(), self.high.tolist()))

    def _label(self, low: float, high: float) -> str:
        first, last = self._text(low), self._text(high)
        if math.isinf(low):
            return f"{last} or less" if self.whole else f"under {last}"
        if math.isinf(high):
            return f"{first} or more"
        if self.kind == "dates" and (period := whole_period(low, high)):
            return period
        return first if first == last else f"{first} to {last}"

    def _text(self, number: float) -> str:
        return value_text(number, self.kind)

    def text(self, number: float, digits: int | None = None) -> str:
        """Return a number as tables show it, with its unit."""
        shown_number = value_text(number, self.kind, digits)
        return f"{shown_number} {self.unit}" if self.unit else shown_number

    def grouped(self, number: float, digits: int | None = None) -> str:
        """Return a number with commas between thousands, unless the scale looks like one of years.

        >>> [Scale((low, 2000.0, 2500.0)).grouped(2500.0) for low in (0.0, 1950.0)]
        ['2,500', '2500']
        """
        if self.kind == "numbers" and digits is None and float(number).is_integer():
            digits = 0
        text = value_text(number, self.kind, digits)
        years = not self.unit and self.edges[0] >= 1000 and self.edges[-1] < 3000
        return text.replace(",", "") if years else text

    def at_end(self, number: float) -> str:
        """Return what is known of an infinite number: where the bucket without an end begins.

        >>> Scale((0.0, 2500.0, 5000.0), outside="clamp").at_end(math.inf)
        '≥ 2,500'
        """
        if number < 0:
            return f"{'≤' if self.whole else '<'} {self.grouped(self.high[0])}"
        return f"≥ {self.grouped(self.low[-1])}"

    def place(self, number: float) -> int:
        """Return the number of the bucket that holds a number, or `NOWHERE`."""
        return int(self.places(np.array([number], np.float64))[0])

    def places(self, numbers: Floats) -> Integers:
        """Return the bucket of each number; `NOWHERE` if it is in none, or not whole if it must."""
        edges = np.array(self.edges, np.float64)
        if self.kind == "scores":
            found = np.minimum(np.searchsorted(edges, numbers), self.k - 1)
            return np.where(edges[found] == numbers, found, NOWHERE)
        found = np.searchsorted(edges, numbers, side="right") - 1
        top = edges[-1]
        if not self.whole:  # the last bucket holds its upper edge; that of a circle is the first
            found = np.where(numbers == top, 0 if self.circular else self.k - 1, found)
        if self.outside == "clamp":
            found = np.clip(found, 0, self.k - 1)
        found = np.where((found < 0) | (found >= self.k), NOWHERE, found)
        bad = ~np.isfinite(numbers)
        if self.whole:
            bad |= numbers != np.floor(numbers)
        return np.where(bad, NOWHERE, found)

    def rule(self) -> str:
        """Return which numbers are answers, as an error says it."""
        what = {"numbers": "a whole number" if self.whole else "a number", "dates": "a date"}.get(
            self.kind, "a duration"
        )
        if self.kind == "scores":
            return f"one of the scores {', '.join(self._text(e) for e in self.edges[:8])}"
        low, high = float(self.low[0]), float(self.high[-1])
        least = f" from {self._text(low)}" if math.isfinite(low) else ""
        most = f" {'to' if least else 'up to'} {self._text(high)}" if math.isfinite(high) else ""
        return f"{what}{least}{most or ' on' * bool(least)}"

    def to_document(self) -> dict[str, Any]:
        """Return the fields of a question in a survey that describe the scale."""
        edges = [_plain(edge, self.kind) for edge in self.edges]
        out: dict[str, Any] = {"scores": edges} if self.kind == "scores" else {"edges": edges}
        if self.kind == "numbers":
            out["whole"] = self.whole
        elif self.kind == "durations":
            out["durations"] = True
        if self.outside != "refuse":
            out["outside"] = self.outside
        out |= {"circular": True} if self.circular else {}
        return out | ({"unit": self.unit} if self.unit else {})


def _plain(edge: float, kind: Kind) -> float | int | str | None:
    """Return an edge for JSON, which has no infinity and one kind of number."""
    if math.isinf(edge):
        return None
    if kind == "dates":
        return value_text(edge, kind)
    return int(edge) if edge == int(edge) else edge
