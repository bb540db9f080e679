"""Wanted: the means, quantiles and shares of ranges that a command or a request asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import meant
from murmurs.inference.course import Course
from murmurs.inference.of_numbers import scale_of
from murmurs.inference.statistic import Statistic, p_said
from murmurs.present.text import table

_ARGUMENTS = {
    "mean": (),
    "sum": (),
    "median": (),
    "quantile": (float,),
    "between": (str, str),
    "above": (str,),
    "top": (int,),
}
"""What can be asked for, and the types of what stands behind it; texts are numbers on the scale."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for, in order; it is the same of an estimate, a comparison and a trend.

    >>> Wanted.read(["mean", "quantile 0.9", "between 30 40"])
    Wanted(asked=(('mean',), ('quantile', 0.9), ('between', '30', '40')))
    """

    asked: tuple[tuple[Any, ...], ...] = ()

    @classmethod
    def read(cls, texts: Iterable[str]) -> Wanted:
        """Return what texts such as "quantile 0.9" ask for."""
        return cls(tuple(map(_read, texts)))

    def __bool__(self) -> bool:
        return bool(self.asked)

    def of(self, found: Any, **options: Any) -> list[Any]:
        """Return all of it, of an estimate, a comparison or a trend on a scale."""
        said: list[Any] = []
        circular = bool(self) and scale_of([found]).circular
        for name, *given in self.asked:
            if not hasattr(found, name):
                raise ValueError(f"a {name} is not compared: ask for the mean")
            is_around = name == "mean" and circular and hasattr(found, "circular_mean")
            asked = getattr(found, "circular_mean" if is_around else name)
            said.append(asked(*given, **options))
        return said


def usual(found: Any) -> Wanted:
    """Return what is shown of an estimate if nothing is asked for: numbers have a mean."""
    scale = getattr(found, "scale", None)
    if scale is None or scale.kind == "scores" or getattr(found, "n", 0) == 0:
        return Wanted()
    return Wanted.read(
        ["mean"] if scale.circular else ["mean", "median", "quantile 0.1", "quantile 0.9"]
    )


def _read(text: str) -> tuple[Any, ...]:
    name, *given = text.split() or [""]
    if name not in _ARGUMENTS:
        known = ", ".join(_ARGUMENTS)
        raise ValueError(f"{shown(name)} is not one of {known}{meant(name, _ARGUMENTS)}")
    kinds = _ARGUMENTS[name]
    if len(given) != len(kinds):
        number = {0: "nothing", 1: "one number", 2: "two numbers"}[len(kinds)]
        raise ValueError(f"{shown(text)} is not complete: {name} is followed by {number}")
    try:
        return (name, *(kind(one) for kind, one in zip(kinds, given, strict=True)))
    except ValueError:
        must = "a whole number" if kinds == (int,) else "a part of people, as 0.9"
        raise ValueError(f"{shown(text)}: {name} is followed by {must}") from None


def statistics_table(said: Sequence[Statistic]) -> str:
    """Return a row for each number, with its interval; changes have p-values."""
    with_p = any(one.p_value is not None for one in said)
    rows = [
        [
            one.name.removesuffix(":"),
            " ".join(filter(None, [one.shown(one.value), one.unit, one.per])),
            f"{one.shown(one.low)} … {one.shown(one.high)}",
            *([p_said(one.p_value or 0.0).removeprefix("p ").removeprefix("= ")] * with_p),
        ]
        for one in said
    ]
    what = "change" if any(one.is_change for one in said) else "estimate"
    header = ["number", what, f"{100 * said[0].level:g} % interval", *["p-value"] * with_p]
    return table(header, rows)


def statistics_columns(said: Sequence[Statistic]) -> dict[str, Any]:
    """Return the columns number, value, low, high and unit; those of changes have p_value.

    Shares and their changes are fractions here, so that they have no unit.
    """
    columns: dict[str, Any] = {"number": [one.name for one in said]}
    for name in ("value", "low", "high", "p_value"):
        values = [getattr(one, name) for one in said]
        if name != "p_value" or any(value is not None for value in values):
            columns[name] = values
    return columns | {"unit": ["" if one.scale is None else one.unit for one in said]}


def courses_columns(courses: Sequence[Course]) -> dict[str, Any]:
    """Return the columns number, period, value, low and high, one course after another."""
    columns: dict[str, Any] = {"number": [], "period": [], "value": [], "low": [], "high": []}
    for course in courses:
        for name, values in course.columns().items():
            columns[name] += values
        columns["number"] += [course.name] * len(course.names)
    return columns
