"""What a study measured: series of numbers, one per repetition, with labels to find them by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from murmurs.numerics.arrays import Floats

Label = str | int | float
"""A parameter, or the name of what was measured."""


@dataclass(frozen=True, eq=False)
class Series:
    """Numbers of one kind or several, one for each repetition of the same thing.

    >>> found = Series({"mechanism": "KRR"}, {"l1": np.array([0.25, 0.5, 0.75])})
    >>> found["mechanism"], found.mean("l1"), round(found.error("l1"), 3)
    ('KRR', 0.5, 0.144)
    """

    labels: Mapping[str, Label]
    values: Mapping[str, Floats]

    def __getitem__(self, label: str) -> Label:
        return self.labels[label]

    @property
    def repetitions(self) -> int:
        """The number of repetitions."""
        return len(next(iter(self.values.values())))

    def mean(self, of: str) -> float:
        """Return the mean over the repetitions."""
        return float(self.values[of].mean())

    def error(self, of: str) -> float:
        """Return the standard error of the mean: 0 for a single number, which is computed."""
        numbers = self.values[of]
        return float(numbers.std(ddof=1)) / math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0

    def quantile(self, of: str, level: float) -> float:
        """Return a quantile over the repetitions."""
        return float(np.quantile(self.values[of], level))

    def median_error(self, of: str) -> float:
        """Return about the standard error of the median: sqrt(pi / 2) times that of the mean."""
        return math.sqrt(math.pi / 2) * self.error(of)


@dataclass(frozen=True, eq=False)
class Table:
    """Series that can be asked for by their labels.

    >>> rows = [Series({"k": k}, {"l1": np.array([k / 10])}) for k in (2, 4)]
    >>> Table(rows).distinct("k"), Table(rows).one(k=4).mean("l1")
    ([2, 4], 0.4)
    """

    series: tuple[Series, ...]

    def __init__(self, series: Iterable[Series]) -> None:
        object.__setattr__(self, "series", tuple(series))

    def __iter__(self) -> Iterator[Series]:
        return iter(self.series)

    def __len__(self) -> int:
        return len(self.series)

    def where(self, **labels: Label) -> Table:
        """Return the series with these labels."""
        wanted = labels.items()
        return Table(s for s in self.series if all(s.labels.get(k) == v for k, v in wanted))

    def one(self, **labels: Label) -> Series:
        """Return the only series with these labels."""
        found = self.where(**labels).series
        if len(found) != 1:
            raise LookupError(f"there are {len(found)} series with {labels}, not one")
        return found[0]

    def distinct(self, label: str) -> list[Label]:
        """Return the values of a label, each once, in the order of the series."""
        return list(dict.fromkeys(s.labels[label] for s in self.series if label in s.labels))
