"""Differences between two estimates, with intervals and tests of a change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import real, shown
from murmurs.boundary.texts import check_name
from murmurs.inference.collisions import apart_from_collisions, collided, collided_p_values
from murmurs.inference.comparable import Comparable, common_shares
from murmurs.inference.contrasts import readings
from murmurs.inference.fit import Target, check_target
from murmurs.inference.many_answers import smallest_p_value
from murmurs.inference.of_numbers import OfNumbers, scale_of
from murmurs.inference.order import Order, order_of
from murmurs.inference.statistic import Statistic
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import chi_square_tail, normal_tail
from murmurs.present import frames
from murmurs.present.layout import fold
from murmurs.present.plots import plot_changes
from murmurs.present.text import changes_table, p_text, printable, shown_digits
from murmurs.scales.figures import Figure, Quantile
from murmurs.scales.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NO_NOISE = 1e-13
"""Standard errors below this are rounding errors of shares that are known exactly."""


FEW_PEOPLE = 30
"""People below which the normal distribution of the noise is rough, and a note is added."""


FEW_CHANGED = 2
"""Changed reports per answer below which the noise among respondents is not nearly normal."""


def few_people(sides: Sequence[Comparable]) -> tuple[str, ...]:
    """Return the note that one side has few people, if one has."""
    least = min(side.fit.counts.people for side in sides)
    if least >= FEW_PEOPLE:
        return ()
    where = "on one side" if len(sides) == 2 else "in one of them"
    people = "person" if least == 1 else "people"
    return (f"with only {least} {people} {where}, intervals and p-values are rough",)


def few_changed(sides: Sequence[Comparable], target: Target) -> tuple[str, ...]:
    """Return the note that privacy noise changes hardly any report, if only that noise counts.

    A changed report takes one person from an answer and gives one to another, so the squared noise
    of all answers together, in people, is about twice their number.
    """
    if target != "respondents":
        return ()
    common = common_shares(sides)
    least = math.inf
    for side in sides:
        people = side.standard_errors("respondents", common) * side.fit.counts.people
        least = min(least, float((people**2).sum()) / 2)
    if not _NO_NOISE < least < FEW_CHANGED * len(common):
        return ()
    where = "on one side" if len(sides) == 2 else "in one of them"
    changed = "less than one report" if least < 1 else f"only about {least:.0f} reports"
    return (
        f"privacy noise changes {changed} {where}, and with fewer than {FEW_CHANGED} per answer "
        "p-values are rough and often too small",
    )


def squared_distance(values: Floats, covariance: Floats) -> tuple[float, int, Floats]:
    """Return values' (inverse covariance) values, its degrees of freedom, and that inverse.

    Directions without noise, such as the sum of shares that always add up to one, are left out. If
    there is no noise at all, any difference is infinitely far.
    """
    noise, directions = np.linalg.eigh(covariance)
    if noise[-1] <= _NO_NOISE**2:
        differs = bool(np.abs(values).max() > _NO_NOISE)
        return math.inf if differs else 0.0, 1, np.zeros_like(covariance)
    kept = noise > 1e-9 * noise[-1]
    turned = directions[:, kept]
    inverse = (turned / noise[kept]) @ turned.T
    statistic = float(((turned.T @ values) ** 2 / noise[kept]).sum())
    return statistic, int(kept.sum()), inverse


_HEADING = 30
"""The most characters of names that head a column; longer ones are only below the table."""


@dataclass(frozen=True, eq=False)
class Difference(frames.TabularAtLevel, OfNumbers[Statistic]):
    """The shares of one estimate minus those of another, computed from the unbiased shares.

    The two must come from different people. For the population, the noise includes the sampling of
    both; for the respondents, it is only the privacy noise. ``names`` are those of the two, such as
    ("law", "arts"); tables and plots then speak of the difference "law minus arts" instead of a
    change.

    If answers are numbers or ordered, `mean`, `median`, `quantile`, `between`, `above` and `top`
    are differences of these with their intervals and p-values, and `order` compares the two
    distributions.
    """

    this: Comparable
    other: Comparable
    target: Target = "population"
    names: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.names is not None:
            object.__setattr__(self, "names", _two(self.names))
        check_target(self.target)
        k, other = len(self.this.fit.unbiased), len(self.other.fit.unbiased)
        if k != other:
            raise ValueError(f"cannot compare {k} answers with {other}")
        if self.this.labels and self.other.labels and self.this.labels != self.other.labels:
            raise ValueError(
                "cannot compare estimates whose labels differ: a difference is about one list of "
                "answers, in one order"
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the answers, or their numbers."""
        known = self.this.labels or self.other.labels
        return known or tuple(str(j) for j in range(len(self.shares)))

    @property
    def heading(self) -> str:
        """What is shown: a change or, if the two have names, which minus which."""
        return "change" if self.names is None else " minus ".join(map(printable, self.names))

    @property
    def ordered(self) -> bool:
        """Whether the answers have an order, which tables and plots then keep."""
        return bool(getattr(self.this, "ordered", False) and getattr(self.other, "ordered", False))

    @cached_property
    def sides(self) -> tuple[Comparable, ...]:
        """The two estimates, free of the collisions of sketches where these can be removed."""
        return apart_from_collisions((self.this, self.other))

    @cached_property
    def shares(self) -> Floats:
        """The unbiased shares of this estimate minus those of the other."""
        this, other = self.sides
        return this.fit.unbiased - other.fit.unbiased

    @cached_property
    def standard_errors(self) -> Floats:
        """The standard errors of the differences."""
        squares = [e.standard_errors(self.target) ** 2 for e in self.sides]
        return np.sqrt(squares[0] + squares[1])

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Return lower and upper limits of the differences.

        They combine the limits of the two shares (Newcombe 1998, method 10): a difference is at its
        lowest where this share is low and the other one high. So they are wider on the side on
        which a rare answer may have been missed by chance.
        """
        level = real(level, "level", 0.5, 1 - 1e-9)
        each = 1 - (1 - level) / len(self.shares) if simultaneous else level
        down, up = [], []
        for side in self.sides:
            limits = side.score_interval(min(each, 1 - 1e-14), self.target)
            down.append(side.fit.unbiased - limits[:, 0])
            up.append(limits[:, 1] - side.fit.unbiased)
        low = self.shares - np.hypot(down[0], up[1])
        high = self.shares + np.hypot(up[0], down[1])
        return np.stack([low, high])

    @cached_property
    def p_values(self) -> Floats:
        """The two-sided p-values of the hypotheses that each share has not changed.

        They take the noise at the shares of all people together, as the overall test does.
        """
        sides = self.sides
        errors = [side.standard_errors(self.target, common_shares(sides)) for side in sides]
        if collided(sides):
            return collided_p_values(sides, np.stack(errors))
        return 2 * normal_tail(np.abs(self.shares) / np.maximum(np.hypot(*errors), _NO_NOISE))

    @cached_property
    def p_value(self) -> float:
        """The p-value of the hypothesis that no share has changed.

        It comes from a chi-square test of all differences with their full covariance, if there are
        at most some thousands of answers and cells. Otherwise it is the smallest p-value times the
        number of tests (Bonferroni).
        """
        sides = self.sides
        if not all(side.fit.has_covariance for side in sides):
            return smallest_p_value([side.fit for side in sides], self.p_values)
        common = common_shares(sides)
        covariance = sum(side.fit.covariance_of(common, self.target) for side in sides)
        statistic, freedom, _ = squared_distance(self.shares, np.asarray(covariance))
        return chi_square_tail(statistic, freedom)

    @property
    def scale(self) -> Scale:
        """The scale of the answers, if they are numbers or ordered."""
        return scale_of((self.this, self.other))

    def _of_numbers(self, asked: Figure | Quantile, level: float) -> Statistic:
        found = readings(self.sides, self.scale, asked, level, self.target)
        name = f"change of the {asked.name}"
        if self.names is not None:
            name = f"{asked.name}, {self.heading}:"
        own = found.difference.of(found, name, self.scale, asked)
        return replace(own, notes=own.notes + collided(self.sides))

    def order(self) -> Order:
        """Test whether the people of this estimate tend to have larger numbers; see `Order`."""
        names = ("this", "the other") if self.names is None else self.names
        return order_of(self.sides, self.scale, self.target, names)

    def columns(self, level: float = 0.95) -> dict[str, Any]:
        """Return the columns of the table: answer, change, low, high, p_value."""
        low, high = self.interval(level)
        return {
            "answer": list(self.labels),
            "change": self.shares,
            "low": low,
            "high": high,
            "p_value": self.p_values,
        }

    def to_document(self, level: float = 0.95) -> dict[str, Any]:
        """Return the comparison as plain values for JSON."""
        columns = self.columns(level)
        lists = {name: list(map(_plain, column)) for name, column in columns.items()}
        lists["p_values"] = lists.pop("p_value")
        names = {} if self.names is None else {"names": list(self.names)}
        return {
            "target": self.target,
            "level": level,
            "notes": list(self.notes),
            "p_value": self.p_value,
            **names,
            **lists,
        }

    def table(self, *, level: float = 0.95, limit: int = 40) -> str:
        """Return the table for the terminal: ordered answers in order, else the surest first."""
        heading = f"{100 * level:g} % interval"
        columns = self.columns(level)
        what = self.heading if len(self.heading) <= _HEADING else "difference"
        return changes_table(columns, heading, limit, ordered=self.ordered, what=what)

    @property
    def conclusion(self) -> str:
        """What the overall test says, in one sentence."""
        said = "Overall test that nothing changed"
        if self.names is not None:
            said = f"{self.heading}, overall test that no share differs"
        return (
            f"{said} in the {self.target}: "
            f"p {'' if self.p_value < 1e-6 else '= '}{p_text(self.p_value)}."
        )

    def plot(
        self,
        axes: Axes | None = None,
        level: float = 0.95,
        *,
        title: str | None = None,
        what: str | None = None,
        limit: int = 30,
    ) -> Axes:
        """Draw the changes with their intervals; return matplotlib's axes.

        The title is that of the estimates and the overall test, unless another is given. ``what``
        names the changes on the axis, such as "change, June minus May".
        """
        asked = getattr(self.this, "title", "")
        told = f"{asked}\n{self.conclusion}" if asked else self.conclusion
        columns, heading = self.columns(level), f"{100 * level:g} % intervals"
        text = told if title is None else title
        if what is None:
            what = "change" if self.names is None else f"difference {self.heading}"
        return plot_changes(columns, heading, text, axes, limit, ordered=self.ordered, what=what)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before using the numbers."""
        sides = (self.this, self.other)
        told = few_people(sides) + few_changed(sides, self.target) + collided(self.sides)
        return told + self._not_summing()

    def _not_summing(self) -> tuple[str, ...]:
        """Return the note that the changes do not add up to zero, if that is seen."""
        total = abs(float(self.shares.sum()))
        if 100 * total < 10.0 ** -shown_digits(np.diff(self.interval(), axis=0) / 4):
            return ()
        return ("changes are of unbiased shares, which need not add up to 100 %",)

    def __str__(self) -> str:
        notes = "".join(f"\nNote: {note}." for note in self.notes)
        return f"{self.table()}\n\n{fold(self.conclusion + notes)}"

    def __repr__(self) -> str:
        largest = int(np.abs(self.shares).argmax())
        what = "change" if self.names is None else f"difference {self.heading},"
        return (
            f"Difference({len(self.shares)} answers, target={self.target!r}, largest {what} "
            f"{self.labels[largest]}: {self.shares[largest]:+.3g})"
        )


def _two(names: Any) -> tuple[str, str]:
    """Return the names of two estimates, if they are two different texts."""
    rule = "names are two different texts, such as ('law', 'arts')"
    found = tuple(names) if isinstance(names, list | tuple) else ()
    if len(found) != 2 or found[0] == found[1]:
        raise ValueError(f"{rule}, not {shown(names)}")
    for name in found:
        check_name(name, "an estimate")
    return found[0], found[1]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.floating) else value
