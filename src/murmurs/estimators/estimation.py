"""Estimate: the shares of the answers, how certain they are, and how they were obtained."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import real
from murmurs.boundary.texts import as_tuple, numbered
from murmurs.counts import Counts
from murmurs.inference.asked_again import limits_again
from murmurs.inference.detection import Control, Detection, detect
from murmurs.inference.difference import Difference
from murmurs.inference.fit import Fit, Target
from murmurs.inference.fitting import fitted
from murmurs.inference.intervals import Scale, score_limits
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import normal_quantile
from murmurs.present import frames
from murmurs.present.axes import WIDE
from murmurs.present.layout import fold
from murmurs.present.notebook import shares_html
from murmurs.present.plots import LONG_SCALE, plot_shares
from murmurs.present.text import Order, shares_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NO_NOISE = 1e-24
"""The variance of a share that is known exactly, so that nothing is divided by zero."""

ASKED = "it was asked for by name"
"""The reason given when the caller named the estimator."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated shares of the answers, with the counts they come from.

    ``estimator`` names it and ``why`` says why it was used. For iterative estimators,
    ``gap`` is an upper bound on how far the log-likelihood (or squared error, for regression) is
    from its optimum, and ``converged`` says whether that is within the requested tolerance.
    ``notes`` say what a reader should know before using the numbers. ``title`` heads plots and
    tables, and ``ordered`` answers keep their order in them; otherwise the largest share is first.

    Intervals, tables and plots are about the population that the respondents were sampled from.
    Where everybody answered, pass ``target="respondents"``: then only the privacy noise counts.
    """

    counts: Counts
    shares: Floats
    estimator: str
    why: str
    labels: tuple[str, ...] = ()
    iterations: int = 0
    gap: float = 0.0
    converged: bool = True
    notes: tuple[str, ...] = ()
    posterior_deviations: Floats | None = None
    title: str = ""
    ordered: bool = False
    fit: Fit = None  # type: ignore[assignment]  # that of the counts by default

    def __post_init__(self) -> None:
        if self.fit is None:
            object.__setattr__(self, "fit", fitted(self.counts))
        told = tuple(note for note in self.fit.notes if note not in self.notes)
        object.__setattr__(self, "notes", self.notes + told)
        known = self.counts.mechanism.labels
        if known and not self.labels:
            object.__setattr__(self, "labels", tuple(known))

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.counts.n

    @property
    def unbiased(self) -> Floats:
        """The unbiased shares of the counts, whichever estimator made the shares."""
        return self.fit.unbiased

    @property
    def other(self) -> int | None:
        """The answer that stands for all strings that are not listed, if there is one."""
        return self.counts.channel.other

    def with_labels(self, labels: tuple[str, ...]) -> Estimate:
        """Return the same estimate with a label for each answer."""
        given = as_tuple(labels, "labels")
        if len(given) != len(self.shares):
            raise ValueError(f"{len(given)} labels do not fit {len(self.shares)} answers")
        return replace(self, labels=given)

    def standard_errors(
        self, target: Target = "population", shares: Floats | None = None
    ) -> Floats:
        """Return the standard error of each unbiased share, computed at the estimated shares.

        For respondents it covers only the privacy noise; for the population also the sampling.
        Tests compute it at the ``shares`` of their hypothesis.
        """
        scale = self._scale(target, shares)
        share = self.plausible if shares is None else shares
        variance = scale.constant + scale.slope * share - scale.bend * share**2
        return np.sqrt(np.maximum(variance, 0))

    def interval(
        self,
        level: float = 0.95,
        target: Target = "population",
        *,
        simultaneous: bool = False,
    ) -> Floats:
        """Return the lower and the upper limits: ``low, high = estimate.interval()``.

        Each share lies within its limits with this probability, whatever the share and whichever
        estimator was used: the limits come from the noise of the counts, not from the estimator,
        and are widened if the estimate lies outside. With ``simultaneous``, all shares lie within
        their limits together (each has the level 1 - (1 - level) / k).
        """
        level = real(level, "level", 0.5, 1 - 1e-9)
        each = 1 - (1 - level) / len(self.shares) if simultaneous else level
        scale, each = self._scale(target), min(each, 1 - 1e-14)
        if (each, target) not in self._limits:
            self._limits[each, target] = self._computed_limits(scale, each, target)
        return self._limits[each, target].T.copy()

    @cached_property
    def _limits(self) -> dict[tuple[float, Target], Floats]:
        """The limits that were computed, by the level of each share and the target."""
        return {}

    def _computed_limits(self, scale: Scale, each: float, target: Target) -> Floats:
        """Return the lower and the upper limit of each share, one line for each share."""
        is_again = target == "population" and self.counts.again > 1
        limits = limits_again(self.fit, scale, each) if is_again else self.fit.limits(scale, each)
        both = self.fit.widen(limits)
        both[:, 0] = np.minimum(both[:, 0], np.maximum(self.shares, 0))
        both[:, 1] = np.maximum(both[:, 1], np.minimum(self.shares, 1))
        return both

    def score_interval(self, level: float, target: Target) -> Floats:
        """Return limits of the unbiased shares that may lie below zero; differences use them."""
        return score_limits(self.unbiased, self._scale(target), normal_quantile(0.5 + level / 2))

    def detected(self, error_rate: float = 0.05, control: Control = "bonferroni") -> Detection:
        """Test for each answer whether anybody holds it; see `murmurs.Detection`."""
        return detect(self.fit, error_rate, control)

    def difference(
        self,
        other: Estimate,
        target: Target = "population",
        *,
        names: tuple[str, str] | None = None,
    ) -> Difference:
        """Compare with another period, segment or release; see `murmurs.Difference`.

        With ``names=("law", "arts")``, tables and plots say "law minus arts" instead of "change".
        """
        if not isinstance(other, Estimate):
            way = "murmurs.estimate(counts) first" if isinstance(other, Counts) else "estimate both"
            raise TypeError(f"difference takes an Estimate, not {type(other).__name__}: {way}")
        return Difference(self, other, target, names)

    @property
    def plausible(self) -> Floats:
        """The estimated shares, brought onto the simplex to compute the noise."""
        return plausible(self.shares)

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        return self.fit.noise(self.plausible)

    def _scale(self, target: Target, shares: Floats | None = None) -> Scale:
        constant, slope = self._noise if shares is None else self.fit.noise(shares)
        constant = np.maximum(constant, _NO_NOISE)
        if target == "respondents":
            return Scale(constant, slope, 0.0)
        if target == "population":
            sampled = self.counts.again / self.counts.people
            return Scale(constant, slope + sampled, sampled)
        raise ValueError(f"target must be 'respondents' or 'population', not {target!r}")

    def columns(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the columns of the table.

        They are answer, share, low and high; then the unbiased share and its standard error, from
        which the limits come. A shrunk share plus or minus standard errors is no interval.
        """
        low, high = self.interval(level, target)
        return {
            "answer": list(self.labels) or [str(j) for j in range(len(self.shares))],
            "share": self.shares,
            "low": low.copy(),
            "high": high.copy(),
            "unbiased": self.unbiased,
            "unbiased_error": self.standard_errors(target),
        }

    def rows(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the columns with one label per answer, as tables and plots show them."""
        return self.columns(level, target)

    def to_document(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the estimate as plain values for JSON."""
        columns = self.columns(level, target)
        return {
            "n": self.n,
            "method": self.estimator,
            "why": self.why,
            "notes": list(self.notes),
            "converged": self.converged,
            "gap": self.gap if math.isfinite(self.gap) else None,
            "level": level,
            "target": target,
            "labels": list(self.labels),
            "shares": self.shares.tolist(),
            "low": columns["low"].tolist(),
            "high": columns["high"].tolist(),
            "unbiased": columns["unbiased"].tolist(),
            "unbiased_errors": columns["unbiased_error"].tolist(),
        }

    def to_json(self, level: float = 0.95, target: Target = "population") -> str:
        """Return the estimate as a JSON document."""
        return json.dumps(self.to_document(level, target), ensure_ascii=False)

    def to_csv(self, level: float = 0.95, target: Target = "population") -> str:
        """Return the table as CSV, with a header."""
        frames.refuse_path(level)
        return frames.to_csv(self.columns(level, target))

    def to_arrow(self, level: float = 0.95, target: Target = "population") -> Any:
        """Return the table as a pyarrow.Table, without copying the numbers again."""
        return frames.to_arrow(self.columns(level, target))

    def to_pandas(self, level: float = 0.95, target: Target = "population") -> Any:
        """Return the table as a pandas.DataFrame."""
        return frames.to_pandas(self.columns(level, target))

    def to_polars(self, level: float = 0.95, target: Target = "population") -> Any:
        """Return the table as a polars.DataFrame."""
        return frames.to_polars(self.columns(level, target))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Pass the table to any library that reads Arrow streams: polars.DataFrame(estimate)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def plot(
        self,
        axes: Axes | None = None,
        level: float = 0.95,
        target: Target = "population",
        *,
        order: Order | None = None,
        title: str | None = None,
        truth: Floats | None = None,
        limit: int = 30,
    ) -> Axes:
        """Draw the shares with their intervals; return matplotlib's axes.

        ``order`` is "share" (the largest on top) or "listed" (as the answers are listed, the
        default for ordered answers). ``truth`` are shares to mark, if they are known. Without
        these, the table of two questions is drawn in cells, coloured by their ratio to
        independence. Otherwise there is a row for each answer; answers that were not detected are
        outlines. More than twenty ordered answers are a line with a band.
        """
        if order is None and truth is None:
            cells = self._plot_cells(axes, level, target, title, limit)
            if cells is not None:
                return cells
        return plot_shares(
            self.rows(level, target),
            f"{100 * level:g} % intervals",
            self._heading if title is None else title,
            axes,
            limit,
            self._order(order),
            truth,
            self._seen(),
        )

    @property
    def _heading(self) -> str:
        """What heads a plot that is given no title."""
        told = f"{numbered(self.n, 'report')}, {self.estimator}"
        return f"{self.title}\n{told}" if self.title else told

    def _seen(self) -> NDArray[np.bool_] | None:
        """Return which answers were detected; None if that was not tested."""
        if self.n == 0 or not self.fit.tells_absence:
            return None
        try:
            return self.detected().present
        except ImportError:
            return None

    def _plot_cells(
        self, axes: Axes | None, level: float, target: Target, title: str | None, limit: int
    ) -> Axes | None:
        """Draw the shares in cells, if they are a table of two questions."""
        return None

    @property
    def plot_size(self) -> tuple[float, float] | None:
        """The width and the height that a plot needs, in inches, unless it has one row a label."""
        return WIDE if self.ordered and len(self.shares) > LONG_SCALE else None

    def _order(self, order: Order | None) -> Order:
        return order if order is not None else "listed" if self.ordered else "share"

    def table(
        self,
        truth: Floats | None = None,
        *,
        level: float = 0.95,
        target: Target = "population",
        limit: int = 40,
        order: Order | None = None,
        marks: NDArray[np.bool_] | None = None,
    ) -> str:
        """Return the table for the terminal, with a column for the truth if it is known.

        ``marks`` puts a star beside some answers, such as ``detected().present``.
        """
        heading = f"{100 * level:g} % interval"
        columns = self.rows(level, target)
        return shares_table(columns, heading, truth, limit, self._order(order), marks)

    @property
    def explanation(self) -> str:
        """The estimator and the notes; `why` says why this estimator was used."""
        lines = [f"Estimator: {self.estimator}."]
        lines += [f"Note: {note}." for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.table()}\n\n{fold(self.explanation)}"

    def __repr__(self) -> str:
        largest = (-self.shares).argsort(kind="stable")[:3]
        names = self.labels or [str(j) for j in range(len(self.shares))]
        shares = ", ".join(f"{names[j]}: {self.shares[j]:.3g}" for j in largest)
        more = ", ..." if len(self.shares) > len(largest) else ""
        return f"Estimate(n={self.n}, estimator={self.estimator!r}, {{{shares}{more}}})"

    def _repr_html_(self) -> str:
        caption = f"{numbered(self.n, 'report')}. {self.explanation}"
        heading = f"{self.title}. {caption}" if self.title else caption
        return shares_html(self.rows(), "95 % interval", heading, order=self._order(None))
