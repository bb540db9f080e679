"""Trends: the answers of several periods or groups side by side, and tests whether they differ.

The overall test is the chi-square test of homogeneity of the unbiased shares. Period by period, the
mean of all earlier periods, weighted by their covariance, is compared with the next one. These
steps are independent of each other, so that their squared distances and degrees of freedom add up
(recursive residuals: Brown, Durbin and Evans 1975). For two periods it is the test of `Difference`.
Of three or more periods, slopes are tested too: see `murmurs.inference.slopes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np

from murmurs.boundary.checks import real, shown
from murmurs.boundary.texts import as_tuple
from murmurs.counts import People
from murmurs.inference.collisions import apart_from_collisions, collided, collided_p_values
from murmurs.inference.comparable import Comparable, common_shares
from murmurs.inference.contrasts import readings
from murmurs.inference.course import PER, Course
from murmurs.inference.difference import few_changed, few_people, squared_distance
from murmurs.inference.fit import Target, check_target
from murmurs.inference.many_answers import smallest_p_value
from murmurs.inference.numbers import statistic_of
from murmurs.inference.of_numbers import OfNumbers, scale_of
from murmurs.inference.slopes import Slopes, slopes_of
from murmurs.inference.statistic import p_said
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import chi_square_tail, chi_square_tails
from murmurs.present import frames
from murmurs.present.boxes import PARTS, plot_boxes
from murmurs.present.layout import fold
from murmurs.present.periods import PANELS, places_of, plot_periods, size_for
from murmurs.present.text import left_out, periods_table, shown_digits
from murmurs.scales.figures import Figure, Quantile, quantile
from murmurs.scales.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WORK = 2e10
"""Periods times answers cubed, up to which the overall test uses the whole covariance."""


class Period(Comparable, Protocol):
    """What a trend needs from an estimate: what a comparison needs, and what is shown."""

    @property
    def shares(self) -> Floats:
        """The estimated shares."""
        ...

    @property
    def title(self) -> str:
        """What was asked."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the answers have an order."""
        ...

    def interval(self, level: float, target: Target) -> Floats:
        """Return lower and upper limits of the shares."""
        ...


@dataclass(frozen=True, eq=False)
class Trend(frames.TabularAtLevel, OfNumbers[Course]):
    """Estimates of several periods or groups, and tests whether the shares differ between them.

    Made by `trend`, which see. ``shares`` and ``interval`` show the estimates as they are; the
    tests use the unbiased shares. If answers are numbers or ordered, `mean`, `median`, `quantile`,
    `between`, `above` and `top` show these over the periods, with their slope.
    """

    estimates: tuple[Period, ...]
    names: tuple[str, ...]
    people: People = "different"
    target: Target = "population"
    groups: bool = False
    """Whether the estimates are of groups, which have no order, and not of periods."""

    def __post_init__(self) -> None:
        if self.people not in get_args(People):
            raise ValueError(f"people must be 'different' or 'same', not {shown(self.people)}")
        check_target(self.target)
        if len(self.estimates) < 2:
            raise ValueError(
                f"a trend needs at least two estimates, not {len(self.estimates)}: to show one, "
                "print or plot it"
            )
        if len(self.names) != len(self.estimates):
            raise ValueError(f"{len(self.names)} names do not fit {len(self.estimates)} estimates")
        for number, name in enumerate(self.names):
            if name in self.names[:number]:
                raise ValueError(f"two estimates have the name {shown(name)}: names must differ")
        self._check_estimates()

    def _check_estimates(self) -> None:
        first, labels = self.estimates[0], self.labels
        k, asked = len(first.fit.unbiased), first.fit.counts.people
        for name, estimate in zip(self.names, self.estimates, strict=True):
            if len(estimate.fit.unbiased) != k:
                raise ValueError(
                    f"{shown(name)} has {len(estimate.fit.unbiased)} answers and "
                    f"{shown(self.names[0])} has {k}: a trend is about one list of answers"
                )
            if estimate.labels and estimate.labels != labels:
                raise ValueError(
                    f"the labels of {shown(name)} differ from those of others: a trend is about "
                    "one list of answers, in one order"
                )
            if estimate.fit.n == 0:
                raise ValueError(f"{shown(name)} has no reports: leave it out")
            is_same = self.people == "same" and self.target == "respondents"
            if is_same and estimate.fit.counts.people != asked:
                raise ValueError(
                    f"{asked} people in {shown(self.names[0])} and {estimate.fit.counts.people} in "
                    f"{shown(name)} are not the same people: count only those who reported every "
                    'time, or use target="population"'
                )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the answers, or their numbers."""
        for estimate in self.estimates:
            if estimate.labels:
                return estimate.labels
        return tuple(str(j) for j in range(len(self.estimates[0].fit.unbiased)))

    @property
    def title(self) -> str:
        """What was asked, if the estimates say so."""
        return next((estimate.title for estimate in self.estimates if estimate.title), "")

    @property
    def ordered(self) -> bool:
        """Whether the answers have an order, which tables and plots then keep."""
        return all(estimate.ordered for estimate in self.estimates)

    @cached_property
    def shares(self) -> Floats:
        """The estimated shares: one row per answer, one column per period."""
        return np.stack([estimate.shares for estimate in self.estimates], axis=1)

    def interval(self, level: float = 0.95) -> Floats:
        """Return lower and upper limits of the shares: a row per answer, a column per period."""
        level = real(level, "level", 0.5, 1 - 1e-9)
        return np.stack([e.interval(level, self.target) for e in self.estimates], axis=2)

    @cached_property
    def order(self) -> Integers:
        """The answers as they are shown: ordered ones in order, others by their mean share."""
        if self.ordered:
            return np.arange(len(self.shares))
        return np.argsort(-self.shares.mean(axis=1), kind="stable")

    @cached_property
    def sides(self) -> tuple[Period, ...]:
        """The estimates, free of the collisions of sketches where these can be removed."""
        return apart_from_collisions(self.estimates)

    @cached_property
    def p_values(self) -> Floats:
        """The p-values of the hypotheses that the share of each answer is always the same.

        They take the noise at the shares of all people together, as the overall test does.
        """
        common = common_shares(self.sides)
        shares = np.stack([side.fit.unbiased for side in self.sides])
        errors = np.stack([side.standard_errors(self.target, common) for side in self.sides])
        if collided(self.sides):
            return collided_p_values(self.sides, errors)
        weights = 1 / np.maximum(errors, 1e-13) ** 2  # shares may be known exactly
        mean = (weights * shares).sum(axis=0) / weights.sum(axis=0)
        statistics = (weights * (shares - mean) ** 2).sum(axis=0)
        return chi_square_tails(statistics, len(self.estimates) - 1)

    @cached_property
    def p_value(self) -> float:
        """The p-value of the hypothesis that no share differs between any of the periods.

        It uses the full covariance of the shares in each period, if there are at most some
        thousands of answers and cells. Otherwise it is the smallest p-value times the number of
        tests (Bonferroni).
        """
        work = len(self.sides) * len(self.sides[0].fit.unbiased) ** 3
        if work > MOST_WORK or not all(side.fit.has_covariance for side in self.sides):
            return smallest_p_value([side.fit for side in self.sides], self.p_values)
        statistic, freedom, common = 0.0, 0, common_shares(self.sides)
        mean = noise = np.zeros(0)
        for number, estimate in enumerate(self.sides):
            found = estimate.fit.unbiased
            covariance = estimate.fit.covariance_of(common, self.target)
            if number == 0:
                mean, noise = found, covariance
                continue
            step, more, inverse = squared_distance(found - mean, noise + covariance)
            statistic, freedom = statistic + step, freedom + more
            gain = noise @ inverse
            mean = mean + gain @ (found - mean)
            noise = noise - gain @ noise
            noise = (noise + noise.T) / 2
        return chi_square_tail(statistic, freedom)

    @cached_property
    def places(self) -> Floats | None:
        """When the periods are, in steps between neighbours; None for groups, or for only two.

        Names that are dates, weeks, months or numbers say it, others are one step apart.
        """
        return None if self.groups or len(self.names) < 3 else places_of(self.names)

    @cached_property
    def slopes(self) -> Slopes | None:
        """How much each share grows per period; None for groups, and for only two periods."""
        if self.places is None or collided(self.sides):
            return None
        return slopes_of(self.sides, self.places, self.target)

    @property
    def scale(self) -> Scale:
        """The scale of the answers, if they are numbers or ordered."""
        return scale_of(self.estimates)

    def _of_numbers(self, asked: Figure | Quantile, level: float) -> Course:
        scale = self.scale
        found = readings(self.sides, scale, asked, level, self.target)
        slope = None
        if self.places is not None:
            slope = found.slope(self.places).of(
                found, f"slope of the {asked.name}", scale, asked, PER
            )
        shown = tuple(statistic_of(one, scale, asked, level, self.target) for one in self.estimates)
        own = (self.title, (*self.notes, *asked.notes))
        return Course(shown, self.names, found.p_value, slope, *own)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before using the tests."""
        said = [*few_people(self.estimates), *few_changed(self.estimates, self.target)]
        said += collided(self.sides)
        if self.people == "different":
            return tuple(said)
        if any(e.fit.counts.mechanism.is_longitudinal for e in self.estimates):
            said.append(
                "the same people may share permanent noise between periods, and the tests treat it "
                "as fresh: p-values may be too large, but not too small"
            )
        if self.target == "population":
            said.append(
                "the same people are treated as a new sample in every period: p-values are too "
                "large if people mostly repeat their answers"
            )
        return tuple(said)

    @property
    def conclusion(self) -> str:
        """What the overall test says, and that of a straight change."""
        which = "both" if len(self.names) == 2 else f"all {len(self.names)}"
        said = (
            f"Overall test that the shares of the {self.target} are the same in {which}: "
            f"{p_said(self.p_value)}."
        )
        if self.slopes is None:
            return said
        return f"{said}\nTest that no share has a slope: {p_said(self.slopes.p_value)}."

    def columns(self, level: float = 0.95) -> dict[str, Any]:
        """Return the columns of the long table: answer, period, share, low, high."""
        low, high = self.interval(level)[:, self.order]
        return {
            "answer": [self.labels[j] for j in self.order for _ in self.names],
            "period": list(self.names) * len(self.order),
            "share": self.shares[self.order].ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }

    def to_document(self, level: float = 0.95) -> dict[str, Any]:
        """Return the trend as plain values for JSON: a row of each table per answer."""
        low, high = self.interval(level)[:, self.order]
        slopes = None if self.slopes is None else self.slopes.to_document(self.order, level)
        return {
            "title": self.title,
            "people": self.people,
            "target": self.target,
            "level": level,
            "notes": list(self.notes),
            "p_value": self.p_value,
            "periods": list(self.names),
            "n": [estimate.fit.n for estimate in self.estimates],
            "labels": [self.labels[j] for j in self.order],
            "p_values": self.p_values[self.order].tolist(),
            "shares": self.shares[self.order].tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "slopes": slopes,
        }

    def table(self, *, level: float = 0.95, limit: int = 40) -> str:
        """Return the table for the terminal: one row per answer, one column per period.

        Below each share is its interval. Of three or more periods, the last columns are the change
        per period, in points, and its p-value.
        """
        errors = [estimate.standard_errors(self.target) for estimate in self.estimates]
        shown_first = self.order[:limit]
        low, high = self.interval(level)[:, shown_first]
        text = periods_table(
            [self.labels[j] for j in shown_first],
            self.names,
            (self.shares[shown_first], low, high),
            self.p_values[shown_first],
            np.concatenate(errors),
            None if self.slopes is None else self.slopes.columns(shown_first, level),
        )
        more = left_out(len(self.order) - limit)
        below = "share" if self.slopes is None else "share and slope"
        return f"{text}{more}\n\nBelow each {below} is its {100 * level:g} % interval."

    def plot(
        self,
        axes: Axes | None = None,
        level: float = 0.95,
        *,
        title: str | None = None,
        joined: bool | None = None,
    ) -> Axes:
        """Draw the shares over the periods, with their intervals; return matplotlib's axes.

        Each answer has a small panel with its p-value, at most twelve: those with the largest mean
        share, in the order of the table. ``joined`` shares are lines with bands, as for periods of
        time, with the other answers in grey behind them; names that are dates, weeks, months or
        numbers have a gap where one is missing. Otherwise, as by default for groups, there is a row
        with an interval for each group.
        """
        joined = not self.groups if joined is None else joined
        largest = set((-self.shares.mean(axis=1)).argsort(kind="stable")[:PANELS].tolist())
        rows = np.array(sorted(self.order, key=lambda j: j not in largest))
        low, high = self.interval(level)[:, rows]
        told = f"{self.title}\n{self.conclusion}" if self.title else self.conclusion
        errors = [estimate.standard_errors(self.target) for estimate in self.estimates]
        return plot_periods(
            [self.labels[j] for j in rows],
            self.names,
            (self.shares[rows], low, high),
            self.p_values[rows],
            f"{100 * level:g} % intervals",
            told if title is None else title,
            axes,
            digits=shown_digits(np.concatenate(errors)),
            joined=joined,
        )

    def plot_boxes(
        self, axes: Axes | None = None, level: float = 0.95, *, title: str | None = None
    ) -> Axes:
        """Draw how numbers are distributed in each: quantiles, and the median with its interval."""
        asked = [quantile(self.scale, part) for part in PARTS]
        found = [
            [statistic_of(side, self.scale, one, level, self.target) for one in asked]
            for side in self.estimates
        ]
        values = np.array([[one.value for one in row] for row in found])
        low, high = (np.array([getattr(row[2], name) for row in found]) for name in ("low", "high"))
        heading = f"{100 * level:g} % interval"
        told = self.title if title is None else title
        return plot_boxes(self.names, values, (low, high), self.scale, heading, told, axes)

    def plot_size(self, *, joined: bool | None = None) -> tuple[float, float]:
        """Return the width and the height in inches that a plot needs."""
        joined = not self.groups if joined is None else joined
        return size_for(len(self.labels), 0 if joined else len(self.names))

    def __str__(self) -> str:
        notes = "".join(f"\nNote: {note}." for note in self.notes)
        return f"{self.table()}\n{fold(self.conclusion + notes)}"

    def __repr__(self) -> str:
        return (
            f"Trend({len(self.names)} estimates of {len(self.labels)} answers, "
            f"people={self.people!r}, target={self.target!r})"
        )


def trend(
    estimates: Mapping[str, Period] | Iterable[Period],
    names: Sequence[str] | None = None,
    *,
    people: People = "different",
    target: Target | None = None,
    groups: bool = False,
) -> Trend:
    """Put estimates of several periods or groups side by side, and test whether shares differ.

    ``estimates`` are a list with ``names`` beside it (1, 2, ... by default), or a mapping from name
    to estimate. They may have different mechanisms, epsilons and estimators, but one list of
    answers.

    Say whose answers they are. ``people="different"``: nobody is in two of them, and the tests are
    about the population that the respondents were sampled from. ``people="same"``: the same people
    answered every time with fresh noise; they are sampled once, so only the privacy noise is
    between them and a change, and the tests are about these respondents. ``target`` overrides whose
    shares are meant.

    Of three or more periods, slopes show and test a straight change. With ``groups=True`` estimates
    are of groups without an order, which have no slope.

    >>> import murmurs as mm
    >>> drink = mm.Question("drink", ["tea", "mate", "water"], epsilon=2.0)
    >>> rng = np.random.default_rng(1)
    >>> weeks = [[5000, 3000, 2000], [4800, 3100, 2100], [4200, 3700, 2100]]
    >>> found = trend([drink.estimate(drink.simulate(week, rng)) for week in weeks])
    >>> print(found)
    answer            1            2            3  p-value        slope  p of slope
    ──────  ───────────  ───────────  ───────────  ───────  ───────────  ──────────
    tea          49.9 %       48.2 %       41.4 %   < 1e-6         -4.3      < 1e-6
            48.5 … 51.4  46.7 … 49.6  40.0 … 42.8           -5.3 … -3.3
    mate         30.8 %       30.3 %       38.4 %   < 1e-6         +3.8      < 1e-6
            29.5 … 32.2  29.0 … 31.7  37.0 … 39.8           +2.8 … +4.7
    water        19.2 %       21.5 %       20.2 %    0.037         +0.5        0.25
            18.0 … 20.5  20.3 … 22.8  19.0 … 21.5           -0.4 … +1.4
    <BLANKLINE>
    Below each share and slope is its 95 % interval.
    Overall test that the shares of the population are the same in all 3: p < 1e-6.
    Test that no share has a slope: p < 1e-6.
    """
    if isinstance(estimates, Mapping):
        if names is not None:
            raise ValueError("the estimates have names already: leave names out, or pass a list")
        several, called = list(estimates.values()), list(estimates)
    elif not isinstance(estimates, Iterable):
        raise TypeError(f"a trend takes a list of estimates, not {type(estimates).__name__}")
    else:
        several = list(estimates)
        called = [str(j + 1) for j in range(len(several))]
        if names is not None:
            called = list(as_tuple(names, "names of estimates"))
    for number, one in enumerate(several):
        if not hasattr(one, "fit"):
            raise TypeError(
                f"a trend takes estimates, but number {number} is of type {type(one).__name__}: "
                "use murmurs.estimate(counts) first"
            )
    chosen: Target = "respondents" if people == "same" else "population"
    return Trend(
        tuple(several),
        tuple(map(str, called)),
        people,
        chosen if target is None else target,
        groups,
    )
