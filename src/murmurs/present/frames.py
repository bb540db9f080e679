"""Tables of numbers as CSV, Arrow, pandas and polars; each package is loaded when it is used."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.numerics.arrays import Floats

Columns = Mapping[str, Any]
"""Columns by name: lists or arrays of the same length."""


def to_csv(columns: Columns) -> str:
    r"""Return columns as CSV, with a header.

    >>> to_csv({"answer": ["tea", "mate"], "share": np.array([0.25, 0.75])})
    'answer,share\ntea,0.25\nmate,0.75\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    lists = (c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values())
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue()


def refuse_path(level: object) -> None:
    """Refuse a path in place of a level: unlike that of pandas, to_csv writes no file."""
    if isinstance(level, str | PathLike):
        raise TypeError(
            f"to_csv returns the text and writes no file, so it does not take {shown(level)}: "
            "write it with Path(...).write_text(...), or use to_pandas().to_csv(...)"
        )


def to_arrow(columns: Columns) -> Any:
    """Return columns as a pyarrow.Table; arrays of numbers are not copied."""
    return needed("pyarrow", "frames").table(dict(columns))


def to_pandas(columns: Columns) -> Any:
    """Return columns as a pandas.DataFrame."""
    return needed("pandas", "pandas").DataFrame(dict(columns))


def to_polars(columns: Columns) -> Any:
    """Return columns as a polars.DataFrame."""
    return needed("polars", "polars").DataFrame(dict(columns))


class Tabular(ABC):
    """What has columns is available as CSV, and as a table of Arrow, pandas and polars."""

    @abstractmethod
    def columns(self) -> Columns:
        """Return the table as columns by name."""

    def to_csv(self) -> str:
        """Return the table as CSV, with a header."""
        return to_csv(self.columns())

    def to_arrow(self) -> Any:
        """Return the table as a pyarrow.Table."""
        return to_arrow(self.columns())

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame."""
        return to_pandas(self.columns())

    def to_polars(self) -> Any:
        """Return the table as a polars.DataFrame."""
        return to_polars(self.columns())


class TabularAtLevel(ABC):
    """The same for a table with intervals, at a level that is asked for."""

    @abstractmethod
    def columns(self, level: float = 0.95) -> Columns:
        """Return the table as columns by name."""

    def to_csv(self, level: float = 0.95) -> str:
        """Return the table as CSV, with a header."""
        refuse_path(level)
        return to_csv(self.columns(level))

    def to_arrow(self, level: float = 0.95) -> Any:
        """Return the table as a pyarrow.Table."""
        return to_arrow(self.columns(level))

    def to_pandas(self, level: float = 0.95) -> Any:
        """Return the table as a pandas.DataFrame."""
        return to_pandas(self.columns(level))

    def to_polars(self, level: float = 0.95) -> Any:
        """Return the table as a polars.DataFrame."""
        return to_polars(self.columns(level))


def to_crosstab(table: Floats, names: Sequence[str], labels: Sequence[Sequence[str]]) -> Any:
    """Return a table as a pandas.DataFrame: the last axis in the columns, the others in the rows.

    >>> to_crosstab(np.eye(2), ["drink", "sugar"], [["tea", "mate"], ["yes", "no"]])
    sugar  yes   no
    drink
    tea    1.0  0.0
    mate   0.0  1.0
    """
    pandas = needed("pandas", "pandas")
    across = pandas.Index(list(labels[-1]), name=names[-1])
    down = pandas.Index(list(labels[0]), name=names[0])
    if len(labels) > 2:
        down = pandas.MultiIndex.from_product(labels[:-1], names=list(names[:-1]))
    return pandas.DataFrame(table.reshape(len(down), -1), index=down, columns=across)


def needed(package: str, extra: str) -> Any:
    """Return a package, or say which extra has it."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(
            f"this table needs {package.partition('.')[0]}: install it with pip install "
            f"'murmurs[{extra}]'"
        ) from None
