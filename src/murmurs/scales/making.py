"""Make a scale from what people write: a range with a width or number of buckets, edges, scores."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, cast

import numpy as np

from murmurs.boundary.checks import index, shown, whole
from murmurs.boundary.texts import as_tuple
from murmurs.scales.resolution import chosen_width
from murmurs.scales.scale import MOST_BUCKETS, Outside, Scale
from murmurs.scales.values import LARGEST, Kind, number_of, value_text

_DAYS = {"day": 1, "week": 7}
_LAST_MONTH = 12 * (dt.MAXYEAR + 1)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True)
class Written:
    """What a question says about its scale; None and False where it says nothing."""

    range: Any = None
    width: Any = None
    buckets: Any = None
    edges: Any = None
    scores: Any = None
    whole: bool | None = None
    durations: bool = False
    outside: Outside = "refuse"
    circular: bool = False
    unit: str = ""
    scale: Scale | None = None

    @property
    def has_numbers(self) -> bool:
        """Whether answers are numbers, so that labels are made from buckets."""
        if self.scale is not None:
            return self.scale.kind != "scores"
        return self.range is not None or self.edges is not None

    def check(self, owner: str, *, ordered: bool) -> None:
        """Refuse what says the same thing twice, or speaks of numbers where there are labels."""
        if self.scale is not None:
            if dataclasses.replace(self, scale=None) != Written():
                raise ValueError(f"{owner} has a scale: leave out what else describes one")
            return
        if not isinstance(self.durations, bool):
            raise TypeError(f"durations must be True or False, not {shown(self.durations)}")
        if self.range is not None and self.edges is not None:
            raise ValueError(f"{owner} has a range and edges: give one of the two")
        if self.scores is not None and self.has_numbers:
            raise ValueError(f"{owner} has numbers for answers: leave scores out, labels have them")
        if not self.has_numbers:
            for name in ("width", "buckets", "whole", "durations"):
                if getattr(self, name) is not getattr(Written, name):
                    raise ValueError(
                        f"{owner} has {name} without a range: say which numbers are answers, as "
                        "range=(0, 100)"
                    )
            if self.outside != "refuse":
                raise ValueError(f"{owner} has labels: leave outside out, it is for numbers")
            if (self.circular or self.scores is not None or self.unit) and not ordered:
                told = "circular" if self.circular else "scores" if not self.unit else "unit"
                raise ValueError(f"{owner} has {told}, but no order: add ordered=True")
        elif self.edges is not None and not (self.width is None and self.buckets is None):
            raise ValueError(f"{owner} has edges: leave width and buckets out")
        elif self.width is not None and self.buckets is not None:
            raise ValueError(f"{owner} has a width and a number of buckets: give one of the two")


def scale_of_numbers(
    written: Written, owner: str, epsilon: float | None, people: int | None
) -> tuple[Scale, str]:
    """Return the scale of a question with numbers for answers, and why it has these buckets."""
    if written.scale is not None:
        return written.scale, ""
    ends = written.edges if written.edges is not None else written.range
    what = "edges" if written.edges is not None else "the ends of the range"
    values = as_tuple(ends, f"{what} of {owner}")
    kind: Kind = "durations" if written.durations else _kind_of(values)
    is_edge = written.edges is not None
    numbers = [
        _open_end(value, place)
        if is_edge and place in (0, len(values) - 1) and _is_endless(value)
        else _number(value, kind, owner)
        for place, value in enumerate(values)
    ]
    if written.whole is not None and kind != "numbers":
        raise ValueError(f"{owner} has {kind} for answers: leave whole out, it is for numbers")
    is_whole = kind == "dates" or (kind == "numbers" and _is_whole(written, values))
    options = (written.outside, written.circular, written.unit)
    if is_edge:
        return Scale(tuple(numbers), is_whole, kind, *options), ""
    if len(numbers) != 2 or not all(map(math.isfinite, numbers)) or not numbers[0] < numbers[1]:
        raise ValueError(
            f"the range of {owner} is {shown(ends)}: give the smallest and the largest number, as "
            "range=(0, 100); for open-ended buckets give edges"
        )
    if max(map(abs, numbers)) > LARGEST:
        raise ValueError(f"the range of {owner} goes beyond 2**53: take larger units")
    low, high = numbers
    last = high + 1 if is_whole else high
    why = ""
    if written.width is not None:
        edges = _by_width(low, last, written.width, kind, is_whole, owner)
    elif written.buckets is not None:
        edges = _by_number(low, last, whole(written.buckets, "buckets", 2, MOST_BUCKETS), is_whole)
    else:
        width, why = chosen_width(last - low, is_whole, epsilon, people)
        edges = _by_width(low, last, width, kind, is_whole, owner)
        why = f"buckets are {value_text(width, 'numbers')} wide, since {why}"
    return Scale(edges, is_whole, kind, *options), why


def scale_of_labels(labels: Sequence[str], written: Written, owner: str) -> Scale:
    """Return the scale of ordered labels: given scores, the labels' own numbers, or 1, 2, ..."""
    if written.scale is not None and written.scale.k == len(labels):
        return written.scale
    if written.scores is None:
        own = [number_of(label, "numbers") for label in labels]
        if any(a is None for a in own) or np.any(np.diff(cast(list[float], own)) <= 0):
            own = [float(j + 1) for j in range(len(labels))]
        return Scale(tuple(cast(list[float], own)), kind="scores", **_rest(written))
    given = as_tuple(written.scores, f"scores of {owner}")
    if len(given) != len(labels):
        raise ValueError(f"{owner} has {len(labels)} labels and {len(given)} scores")
    numbers = tuple(_number(value, "scores", owner) for value in given)
    return Scale(numbers, kind="scores", **_rest(written))


def _rest(written: Written) -> dict[str, Any]:
    return {"circular": written.circular, "unit": written.unit}


def _kind_of(values: Sequence[Any]) -> Kind:
    if any(isinstance(value, dt.timedelta | np.timedelta64) for value in values):
        return "durations"
    dates = (dt.date, np.datetime64)
    if any(isinstance(v, dates) or (isinstance(v, str) and "-" in v[1:]) for v in values):
        return "dates"
    return "numbers"


def _is_endless(value: Any) -> bool:
    """Whether an edge is infinite; JSON, which has no infinity, writes null."""
    return value is None or (isinstance(value, float) and math.isinf(value))


def _open_end(value: Any, place: int) -> float:
    own = math.inf if place else -math.inf
    return own if value is None else float(value)  # the scale refuses inf where -inf must be


def _number(value: Any, kind: Kind, owner: str) -> float:
    if _is_endless(value):
        raise ValueError(
            f"{owner} has an infinite number in its range, or among its edges: only the first and "
            "the last edge may be infinite, as in edges=[-inf, 0, 10, inf]"
        )
    number = None if _is_quoted(value, kind) else number_of(value, kind)
    if number is None:
        one = {"dates": "a date", "durations": "a duration"}.get(kind, "a number")
        raise TypeError(f"{owner} has {shown(value)} where {one} must be")
    return number


def _is_quoted(value: Any, kind: Kind) -> bool:
    """Whether a number is given as text, which does not say whether answers are whole."""
    return isinstance(value, str) and kind in ("numbers", "scores")


def _is_whole(written: Written, values: Sequence[Any]) -> bool:
    if written.whole is not None:
        return written.whole
    given = [v for v in (*values, written.width) if not _is_endless(v)]
    return all(index(value) is not None for value in given)


def _by_width(
    low: float, last: float, width: Any, kind: Kind, is_whole: bool, owner: str
) -> tuple[float, ...]:
    if kind == "dates" and isinstance(width, str):
        if width in _MONTHS:
            return _by_months(low, last, _MONTHS[width])
        width = _DAYS.get(width, width)
    elif kind == "dates" and isinstance(width, dt.timedelta):
        width = width / dt.timedelta(days=1)
    unit: Kind = "durations" if kind == "durations" else "numbers"
    step = None if _is_quoted(width, unit) else number_of(width, unit)
    if step is None or not step > 0 or (is_whole and step != int(step)):
        must = "a positive whole number" if is_whole else "positive"
        raise ValueError(
            f"the width of the buckets of {owner} is {shown(width)}: it must be {must}"
        )
    exact, start, end = _exact(step), _exact(low), _exact(last)
    many = math.ceil((end - start) / exact)
    if many > MOST_BUCKETS:
        raise ValueError(
            f"buckets of {shown(width)} are {many:,} in the range of {owner}, and a scale has at "
            f"most {MOST_BUCKETS:,}: take wider ones"
        )
    return (*(float(start + j * exact) for j in range(many)), last)


def _by_months(low: float, last: float, months: int) -> tuple[float, ...]:
    day = dt.date.fromisoformat(value_text(low, "dates"))
    first = (day.month - 1) // months * months
    edges, at = [low], 12 * day.year + first
    while True:
        at += months
        if at >= _LAST_MONTH:  # the scale refuses its last edge
            return (*edges, last)
        edge = cast(float, number_of(dt.date(at // 12, at % 12 + 1, 1), "dates"))
        if edge >= last:
            return (*edges, last)
        edges.append(edge)


def _by_number(low: float, last: float, buckets: int, is_whole: bool) -> tuple[float, ...]:
    size = _exact(last) - _exact(low)
    if is_whole:
        if buckets > size:
            raise ValueError(f"there are only {size} whole numbers for {buckets} buckets")
        width = math.ceil(size / buckets)
        if math.ceil(size / width) == buckets:  # all equal, but for the last
            return (*(low + j * width for j in range(buckets)), last)
        return tuple(float(_exact(low) + j * size // buckets) for j in range(buckets + 1))
    return (*(float(_exact(low) + j * size / buckets) for j in range(buckets)), last)


def _exact(number: float) -> Fraction:
    """Return the number that the shortest text of a float says, so that ten times 0.1 is 1."""
    try:
        return Fraction(Decimal(repr(number)))
    except InvalidOperation:
        return Fraction(number)
