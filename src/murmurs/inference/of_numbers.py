"""OfNumbers: the same questions about numbers, asked of a comparison or of a trend."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from murmurs.scales import figures
from murmurs.scales.figures import Figure, Quantile
from murmurs.scales.scale import Scale

Said = TypeVar("Said")


class OfNumbers(Generic[Said]):
    """What can be asked where all estimates are of one question with numbers or ordered labels."""

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """The scale of the answers; an error if they have none."""

    @abstractmethod
    def _of_numbers(self, asked: Figure | Quantile, level: float) -> Said:
        """Return what the estimates say about a mean, a share of buckets, or a quantile."""

    def mean(self, level: float = 0.95) -> Said:
        """Compare means; people in a bucket count with its middle, labels with their scores."""
        return self._of_numbers(figures.mean(self.scale), level)

    def quantile(self, part: float, level: float = 0.95) -> Said:
        """Compare the numbers that this part of all people do not exceed."""
        return self._of_numbers(figures.quantile(self.scale, part), level)

    def median(self, level: float = 0.95) -> Said:
        """Compare medians."""
        return self.quantile(0.5, level)

    def between(self, low: Any, high: Any, level: float = 0.95) -> Said:
        """Compare shares of people from ``low`` up to, but not including, ``high``."""
        return self._of_numbers(figures.between(self.scale, low, high), level)

    def above(self, low: Any, level: float = 0.95) -> Said:
        """Compare shares of people from ``low`` on."""
        return self._of_numbers(figures.above(self.scale, low), level)

    def top(self, many: int = 2, level: float = 0.95) -> Said:
        """Compare shares of people in the highest buckets, such as the top two boxes."""
        return self._of_numbers(figures.top(self.scale, many), level)


def scale_of(estimates: Iterable[Any]) -> Scale:
    """Return the scale that all estimates have."""
    scales = [getattr(estimate, "scale", None) for estimate in estimates]
    if any(scale is None for scale in scales):
        raise ValueError(
            "means and quantiles are of numbers, or of ordered labels: make estimates with "
            "question.estimate(counts), of a question with range=... or ordered=True"
        )
    if any(scale != scales[0] for scale in scales):
        raise ValueError("the estimates have different scales: numbers are compared on one")
    return scales[0]  # type: ignore[return-value]  # none of them is None
