"""Reports to single questions, row by row: row i of every column is the same submission."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.mechanisms.products.closed import Product
from murmurs.mechanisms.products.open import OpenProduct
from murmurs.wire import BadReportError, Reports
from murmurs.wire.forms import arrays

_NOT_TOGETHER = (
    ": people draw one cohort for all questions only if these are encoded together, as a joint"
)


def aligned(
    columns: Sequence[Any], names: Sequence[str], mechanism: Product | OpenProduct
) -> Iterator[Reports]:
    """Return reports to all questions, joined from columns of reports to each of them.

    Columns are in any form that `count` takes, or iterables of arrays; they are read side by side,
    in bounded memory. Columns of different lengths are refused.
    """
    if isinstance(columns, str | bytes) or not hasattr(columns, "__len__"):
        raise TypeError(
            f"reports to {len(names)} questions are a list of columns, not {type(columns).__name__}"
        )
    if len(columns) != len(names):
        raise ValueError(f"reports to {len(names)} questions are as many columns")
    sources = [
        _Column(name, arrays(column, part.shape), part.shape.empty(0))
        for name, column, part in zip(names, columns, mechanism.parts, strict=True)
    ]
    done = 0
    while True:
        n = min(source.filled() for source in sources)
        if n == 0:
            break
        joined = mechanism.joined([source.take(n) for source in sources])
        try:
            yield mechanism.shape.check(joined)
        except BadReportError as error:
            told = error.after(done)
            raise BadReportError(told.position, told.rule + _NOT_TOGETHER) from None
        done += n
    for source in sources:
        if source.filled():
            short = next(s.name for s in sources if not s.filled())
            raise ValueError(
                f"{shown(source.name)} has more reports than {shown(short)}, which has {done}: one "
                "submission is one row, with a report to every question"
            )


class _Column:
    """The reports to one question; those that the other columns do not have yet wait."""

    def __init__(self, name: str, parts: Iterator[Reports], empty: Reports) -> None:
        self.name, self._parts, self._left = name, parts, empty

    def filled(self) -> int:
        """Return how many reports are there; none only at the end."""
        while not len(self._left):
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = part
        return len(self._left)

    def take(self, n: int) -> Reports:
        """Return the next n reports."""
        taken, self._left = self._left[:n], self._left[n:]
        return np.asarray(taken)
