"""JointEstimate: the table of shares of several questions, how certain it is, and its margins."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs import estimators
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, meant, numbered
from murmurs.channels.product import MOST_JOINT
from murmurs.estimators.estimation import Estimate
from murmurs.inference.association import Association, association
from murmurs.inference.combined import associate_combined
from murmurs.inference.dependence import Strength, cramers_v
from murmurs.inference.detection import Control, rejected
from murmurs.inference.fit import Target
from murmurs.inference.fitting import fitted
from murmurs.inference.group_means import GroupMeans, group_means
from murmurs.inference.grouped import Grouped
from murmurs.inference.joint_table import JointTable
from murmurs.inference.rank_correlation import kendall
from murmurs.inference.ratios import Ratios, conditional_shares, lift, odds_ratios
from murmurs.inference.screening import Screening
from murmurs.inference.statistic import Statistic
from murmurs.mechanisms.products.closed import BETWEEN, Product
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.present import frames
from murmurs.present.crosstabs import EXPLANATION, Crosstab, crosstab_html, crosstab_text, marks_of
from murmurs.present.heatmaps import plot_crosstab, size_of
from murmurs.present.layout import WIDTH, fold
from murmurs.present.notebook import shares_html
from murmurs.present.text import Order, shown_digits
from murmurs.questions.single import Single
from murmurs.scales.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRINTED = 15
"""The most rows of a table that `print` shows."""

Value = Literal["share", "low", "high", "unbiased", "unbiased_error"]
"""What the cells of a table show."""


@dataclass(frozen=True, eq=False, repr=False)
class JointEstimate(Estimate):
    """Estimated shares of all combinations of answers, and everything that an `Estimate` has.

    ``questions`` are those that were asked together, and ``answers`` the labels of each: the axes
    of the table. Combination (i, j) of two questions is number i * k2 + j of ``shares``.
    """

    questions: tuple[Single, ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls,
        found: Estimate,
        questions: tuple[Single, ...],
        answers: tuple[tuple[str, ...], ...],
    ) -> JointEstimate:
        """Return the estimate of all combinations as one of several questions."""
        own = {field.name: getattr(found, field.name) for field in dataclasses.fields(Estimate)}
        own |= {
            "labels": combined(answers),
            "title": BETWEEN.join(question.name for question in questions),
            "ordered": all(question.ordered for question in questions),
        }
        return cls(**own, questions=questions, answers=answers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions."""
        return tuple(question.name for question in self.questions)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of answers to each question: the shape of the table."""
        return tuple(len(labels) for labels in self.answers)

    def with_labels(self, labels: tuple[str, ...]) -> JointEstimate:
        """Refuse: the labels are those of the questions."""
        raise ValueError(
            f"the labels of {listed(self.names)} are those of the questions: name them there"
        )

    def crosstab(
        self, value: Value = "share", level: float = 0.95, target: Target = "population"
    ) -> Floats:
        """Return the table as an array with one axis for each question.

        ``value`` is what it shows: "share", the limits "low" and "high", or "unbiased" shares and
        their standard errors, "unbiased_error".
        """
        if value not in get_args(Value):
            raise ValueError(f"value must be one of {listed(get_args(Value))}, not {shown(value)}")
        return np.asarray(super().columns(level, target)[value]).reshape(self.sizes)

    def to_crosstab(
        self, value: Value = "share", level: float = 0.95, target: Target = "population"
    ) -> Any:
        """Return the table as a pandas.DataFrame, like `pandas.crosstab` of the answers.

        The last question is in the columns, the others are in the rows.
        """
        table = self.crosstab(value, level, target)
        return frames.to_crosstab(table, self.names, self.answers)

    def place(self, name: str | int) -> int:
        """Return the number of a question, given by its name or its number."""
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(self.names):
            return name
        raise ValueError(
            f"there is no question {shown(name)}; there are {listed(self.names)}"
            f"{meant(name, self.names)}"
        )

    def margin(self, *names: str) -> Estimate:
        """Return the estimate of one question or, for several names, of their table.

        It is that of the question's own reports, by the estimator of this table where it suits
        them. If the combination was reported once, shares are those of the table added up, with the
        noise of the sums. Names are in the order in which the questions were asked.
        """
        given = [self.place(name) for name in names]
        places = sorted(set(given))
        if not names or len(places) < len(names):
            raise ValueError(f"margin takes different names of {listed(self.names)}")
        if places != given:
            asked = listed(tuple(self.names[place] for place in places))
            raise ValueError(
                f"a margin keeps the order in which the questions were asked: give {asked}; to "
                "turn the table of two, use crosstab().T"
            )
        if len(places) == len(self.names):
            return self
        if isinstance(self.counts.mechanism, Product):
            found = estimators.estimate(
                self.counts.margin(*places),
                self._estimator_of(len(places)),
                scale=self.questions[places[0]].scale if len(places) == 1 else None,
            )
        else:
            found = self._added_up(places)
        questions = tuple(self.questions[place] for place in places)
        answers = tuple(self.answers[place] for place in places)
        if len(places) > 1:
            return JointEstimate.of(found, questions, answers)
        return questions[0].described(dataclasses.replace(found, labels=answers[0]))

    def _estimator_of(self, count: int) -> estimators.Estimator | None:
        """Return the estimator of a margin of so many questions; None for their default."""
        if self.estimator not in estimators.BY_NAME or self.estimator == "joint":
            return None
        return None if count == 1 and self.estimator == "independence" else self.estimator

    def _added_up(self, places: list[int]) -> Estimate:
        """Return the shares of some of the questions as sums, with the noise of these."""
        index = np.indices(self.sizes).reshape(len(self.sizes), -1)
        sizes = [self.sizes[place] for place in places]
        groups = np.ravel_multi_index([index[place] for place in places], sizes)
        fit = Grouped(self.counts, self.fit, groups, self.plausible)
        shares = np.asarray(np.bincount(groups, self.shares), np.float64)
        return Estimate(self.counts, shares, self.estimator, self.why, notes=self.notes, fit=fit)

    def association(
        self, first: str | int | None = None, second: str | int | None = None, **options: Any
    ) -> Association:
        """Test whether the answers to two questions go together; see `association` for the options.

        The questions are given by name or number, unless there are only two.

        If the combination was reported once, there is one test and there are no options.
        """
        low, high = sorted(self._pair(first, second))
        if isinstance(self.counts.mechanism, Product):
            return association(self.counts, questions=(low, high), **options)
        if options:
            raise ValueError(
                f"the combination was reported once: leave {listed(tuple(options))} out"
            )
        fit = self.fit if len(self.names) == 2 else self._added_up([low, high]).fit
        return associate_combined(fit, (self.sizes[low], self.sizes[high]), (low, high))

    def screening(self, error_rate: float = 0.05, *, control: Control = "fdr") -> Screening:
        """Test all pairs of questions, with control of false findings; see `screening`."""
        pairs = itertools.combinations(range(len(self.names)), 2)
        tests = tuple(self.association(*pair) for pair in pairs)
        marks = rejected(np.array([test.p_value for test in tests]), error_rate, control)
        return Screening(tests, marks, self.names, error_rate, control)

    def cramers_v(
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        *,
        level: float = 0.95,
        target: Target = "population",
    ) -> Strength:
        """Return Cramér's V of two questions with an interval; see `murmurs.cramers_v`."""
        one, two = self._pair(first, second)
        return cramers_v(self._table_of([one], [two], target), level=level, target=target)

    def lift(
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        *,
        level: float = 0.95,
        target: Target = "population",
    ) -> Ratios:
        """Return how many times as common combinations are as if independent; see `lift`."""
        one, two = self._pair(first, second)
        return lift(self._table_of([one], [two], target), level=level, target=target)

    def odds_ratios(
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        *,
        reference: tuple[str, str] | None = None,
        level: float = 0.95,
        target: Target = "population",
    ) -> Ratios:
        """Return odds ratios against a reference combination; see `murmurs.odds_ratios`.

        The reference is a label of each of the two questions, by default the first of each.
        """
        one, two = self._pair(first, second)
        table = self._table_of([one], [two], target)
        at = (0, 0) if reference is None else self._places_of(reference, table)
        return odds_ratios(table, reference=at, level=level, target=target)

    def conditional_shares(
        self,
        given: str | int | Sequence[str | int],
        of: str | int | None = None,
        *,
        level: float = 0.95,
        target: Target = "population",
    ) -> Ratios:
        """Return how the answers to a question are distributed among those with another answer.

        ``given`` is the other question, or several, whose combinations are then the columns.
        ``of`` may be left out if only one question is left. Columns add up to one.
        """
        others = self._places(given)
        left = [place for place in range(len(self.names)) if place not in others]
        if of is None and len(left) != 1:
            names_left = listed(tuple(self.names[place] for place in left))
            raise ValueError(f"say of which question, of=..., one of {names_left}")
        own = left[0] if of is None else self.place(of)
        if own in others:
            raise ValueError("a conditional share is of one question, given others")
        table = self._table_of([own], others, target)
        return conditional_shares(table, level=level, target=target)

    def means(
        self,
        of: str | int,
        by: str | int | Sequence[str | int],
        *,
        level: float = 0.95,
        target: Target = "population",
    ) -> GroupMeans:
        """Return the mean of one question's numbers in each group of people.

        Groups are the answers to another question or, of several, their combinations. Ordered
        labels count with their scores.
        """
        own, others = self.place(of), self._places(by)
        if own in others:
            raise ValueError("a mean by group is of one question, by others")
        found = self._table_of([own], others, target)
        kept = np.moveaxis(self.shares.reshape(self.sizes), [own, *others], range(len(others) + 1))
        shares = kept.reshape(*kept.shape[: len(others) + 1], -1).sum(axis=-1)
        shares = np.asarray(shares).reshape(found.shares.shape)
        title = f"{found.names[0]} by {found.names[1]}"
        return group_means(found, shares, self._scale_at(own), level, title)

    def rank_correlation(
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        *,
        level: float = 0.95,
        target: Target = "population",
    ) -> Statistic:
        """Return Kendall's tau-b of two questions with numbers or ordered labels.

        It is 1 if people with more of one always have more of the other, -1 if always less. Its
        p-value is that of the hypothesis that it is zero. People in one bucket are tied.
        """
        pair = self._pair(first, second)
        for place in pair:
            if self._scale_at(place).circular:
                raise ValueError(f"{shown(self.names[place])} is circular, and so has no order")
        one, two = pair
        return kendall(self._table_of([one], [two], target), level)

    def _scale_at(self, place: int) -> Scale:
        """Return the scale of a question, which must have numbers or ordered labels."""
        found: Scale | None = getattr(self.questions[place], "scale", None)
        if found is None:
            raise ValueError(
                f"{shown(self.names[place])} has neither numbers nor an order: add ordered=True"
            )
        return found

    def _places(self, names: str | int | Sequence[str | int]) -> list[int]:
        """Return the numbers of one or several different questions."""
        given = names if isinstance(names, list | tuple) else [cast("str | int", names)]
        found = [self.place(name) for name in given]
        if len(set(found)) < len(found):
            raise ValueError(f"{listed(tuple(map(str, given)))} names a question twice")
        return found

    def _table_of(self, rows: list[int], columns: list[int], target: Target) -> JointTable:
        """Return unbiased shares of the questions in rows and columns, with their covariance."""
        places = [*rows, *columns]
        kept = sorted(places)
        sizes = [self.sizes[place] for place in kept]
        if math.prod(sizes) > MOST_JOINT:
            raise ValueError(
                f"{math.prod(sizes)} combinations of answers are too many for the covariance of "
                f"all of them, at most {MOST_JOINT}: merge rare answers, or use fewer candidates"
            )
        if len(kept) == len(self.names):
            fit = self.fit
        elif isinstance(self.counts.mechanism, Product):
            fit = fitted(self.counts.margin(*kept))
        else:
            fit = self._added_up(kept).fit
        turn = [kept.index(place) for place in places]
        shares = fit.unbiased.reshape(sizes).transpose(turn)
        covariance = fit.covariance(plausible(fit.unbiased), target).reshape(sizes + sizes)
        covariance = covariance.transpose([*turn, *(len(turn) + place for place in turn)])
        down, across = (combined([self.answers[i] for i in side]) for side in (rows, columns))
        two = (len(down), len(across))
        heads = tuple(BETWEEN.join(self.names[i] for i in side) for side in (rows, columns))
        covariance = covariance.reshape(two + two)
        people = (1 / max(self.counts.people, 1), target == "population")
        shares = shares.reshape(two)
        return JointTable(shares, covariance, down, across, (heads[0], heads[1]), *people)

    @staticmethod
    def _places_of(reference: tuple[str, str], table: JointTable) -> tuple[int, int]:
        found = []
        for label, labels in zip(reference, (table.rows, table.columns), strict=True):
            if label not in labels:
                raise ValueError(f"{shown(label)} is not one of the answers {listed(labels)}")
            found.append(labels.index(label))
        return found[0], found[1]

    def _pair(self, first: str | int | None, second: str | int | None) -> tuple[int, int]:
        """Return the numbers of two questions; of two in all, they need not be named."""
        if first is None and second is None and len(self.names) == 2:
            return 0, 1
        if first is None or second is None:
            raise ValueError(f"say which two questions of {listed(self.names)}")
        pair = self.place(first), self.place(second)
        if pair[0] == pair[1]:
            raise ValueError(f"an association is of two questions, not of {shown(first)} twice")
        return pair

    @property
    def conclusion(self) -> str:
        """What the test of association says, and how strong it is; of three or more, all pairs."""
        try:
            if len(self.names) > 2:
                return str(self.screening())
            said = self.association().sentence
            few = math.prod(self.sizes) <= MOST_JOINT
            return f"{said}\n{self.cramers_v()}" if few else said
        except (ImportError, ValueError) as error:
            return f"Association was not tested: {error}."

    def columns(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the columns of the table: the answers to each question, and their shares."""
        rest = super().columns(level, target)
        del rest["answer"]
        rows = list(itertools.product(*self.answers))
        asked = {
            f"{name}_answer" if name in rest else name: [row[place] for row in rows]
            for place, name in enumerate(self.names)
        }
        return {**asked, **rest}

    def rows(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the columns with one label for each combination."""
        return super().columns(level, target)

    def to_document(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the estimate as plain values for JSON; shares are in the order of the labels."""
        document = super().to_document(level, target)
        axes = [
            {"name": name, "labels": list(labels)}
            for name, labels in zip(self.names, self.answers, strict=True)
        ]
        return {"questions": axes, **document}

    def _drawn(self, level: float, target: Target) -> Crosstab:
        """Return what is drawn of a table of two questions, in text and in pictures."""
        key = f"{level!r} {target!r}"  # neither is checked yet
        if key not in self._crosstabs:
            self._crosstabs[key] = self._new_crosstab(level, target)
        return self._crosstabs[key]

    @cached_property
    def _crosstabs(self) -> dict[str, Crosstab]:
        """The tables that were drawn."""
        return {}

    def _new_crosstab(self, level: float, target: Target) -> Crosstab:
        columns = super().columns(level, target)
        shares, low, high = (columns[name].reshape(self.sizes) for name in ("share", "low", "high"))
        first, second = self.names
        digits = shown_digits(columns["unbiased_error"])
        labels = (self.answers[0], self.answers[1])
        together = self.interval(level, target, simultaneous=True)
        marks = marks_of(shares, *together.reshape(2, *self.sizes))
        return Crosstab((first, second), labels, shares, low, high, marks, digits)

    def table(
        self,
        truth: Floats | None = None,
        *,
        level: float = 0.95,
        target: Target = "population",
        limit: int = 40,
        order: Order | None = None,
        marks: NDArray[np.bool_] | None = None,
        width: int = WIDTH,
    ) -> str:
        """Return the table with rows, columns and margins, in at most so many columns of text.

        Three or more questions, or an ``order``, a ``truth`` or ``marks``, give the long table
        with one row for each combination.
        """
        if len(self.names) > 2 or any(x is not None for x in (order, truth, marks)):
            return super().table(
                truth, level=level, target=target, limit=limit, order=order, marks=marks
            )
        return f"{crosstab_text(self._drawn(level, target), limit, width)}\n\n{EXPLANATION}"

    def _plot_cells(
        self, axes: Axes | None, level: float, target: Target, title: str | None, limit: int
    ) -> Axes | None:
        """Draw the shares of two questions in cells, coloured by their ratio to independence.

        Shares whose interval rules independence out are bold, with a mark.
        """
        if len(self.names) > 2:
            return None
        drawn = self._drawn(level, target)
        told = f"{self.title}\n{numbered(self.n, 'report')}, {self.estimator}"
        return plot_crosstab(drawn, told if title is None else title, axes, limit)

    @property
    def plot_size(self) -> tuple[float, float] | None:
        """The width and the height that a plot of cells needs, in inches; None for bars."""
        return size_of(self._drawn(0.95, "population")) if len(self.names) == 2 else None

    def __str__(self) -> str:
        told = fold(f"{self.conclusion}\n{self.explanation}")
        text = f"{self.table(limit=PRINTED)}\n\n{told}"
        two = len(self.names) == 2
        rows = self.sizes[0] if two else len(self.shares)
        if rows <= PRINTED and " more column" not in text:
            return text
        wide = ", width=500" if two else ""
        return f"{text}\nTo see all of it: print(estimate.table(limit={rows}{wide}))."

    def __repr__(self) -> str:
        return super().__repr__().replace("Estimate(", "JointEstimate(", 1)

    def _repr_html_(self) -> str:
        caption = (
            f"{self.title}: {numbered(self.n, 'report')}. {self.conclusion} {self.explanation}"
        )
        if len(self.names) > 2:
            return shares_html(self.rows(), "95 % interval", caption, order=self._order(None))
        return crosstab_html(self._drawn(0.95, "population"), caption)


def combined(labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the labels of all combinations of answers.

    >>> combined([("tea", "mate"), ("yes", "no")])[:2]
    ('tea × yes', 'tea × no')
    """
    return tuple(BETWEEN.join(own) for own in itertools.product(*labels))
