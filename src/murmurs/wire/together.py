"""A report that consists of the reports to several questions, sent together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.wire.bits import BitsByCohort
from murmurs.wire.category import Category
from murmurs.wire.shape import BadReportError, Reports, Shape, table_of


@dataclass(frozen=True)
class Together(Shape[tuple[Any, ...]]):
    """One report of each of several shapes; their bytes follow each other.

    A single report is a tuple, an array is one of records with the fields ``q0``, ``q1`` and so on.
    If ``cohorts`` is given, the parts marked in ``in_cohorts`` are reports in one of so many
    cohorts, and all of them must be in the same one.
    """

    parts: tuple[Shape[Any], ...]
    cohorts: int | None = None
    in_cohorts: tuple[bool, ...] = ()

    def __str__(self) -> str:
        return f"{len(self.parts)} questions together"

    def refuse(self, position: int, what: str) -> None:
        """Raise the error for one report of an array."""
        raise BadReportError(position, f"is not a report of {self}: {what}")

    @property
    def dtype(self) -> np.dtype[Any]:
        """A record with one field for each part."""
        fields: list[Any] = []
        for name, part in self._named():
            fields.append((name, part.dtype, *([(part.columns,)] if part.columns else [])))
        return np.dtype(fields)

    @property
    def bits(self) -> float:
        """The sum over the parts; a shared cohort counts once."""
        again = max(sum(self.in_cohorts) - 1, 0)
        shared = math.log2(self.cohorts) if self.cohorts is not None else 0.0
        return math.fsum(part.bits for part in self.parts) - again * shared

    def _named(self) -> Iterator[tuple[str, Shape[Any]]]:
        return ((f"q{i}", part) for i, part in enumerate(self.parts))

    def pack(self, report: tuple[Any, ...]) -> bytes:
        """Return the bytes of the parts, one after another."""
        _check_tuple(report, len(self.parts))
        data = b"".join(part.pack(own) for part, own in zip(self.parts, report, strict=True))
        self.from_bytes(data, one=True)
        return data

    def to_json(self, report: tuple[Any, ...]) -> list[Any]:
        """Return the list of the parts' JSON forms."""
        self.pack(report)
        return [part.to_json(own) for part, own in zip(self.parts, report, strict=True)]

    def from_json(self, value: Any) -> tuple[Any, ...]:
        """Return the report that a list of JSON values represents, one for each part."""
        if not isinstance(value, list) or len(value) != len(self.parts):
            raise self._not_json(f"a list of {len(self.parts)} reports", value)
        report = tuple(part.from_json(own) for part, own in zip(self.parts, value, strict=True))
        self.pack(report)
        return report

    def _bulk(self, values: list[Any]) -> Reports | None:
        columns = table_of(values, len(self.parts))
        if columns is None:
            return None
        out = self.empty(len(values))
        for (name, part), column in zip(self._named(), columns, strict=True):
            try:
                out[name] = part.many_from_json(list(column))
            except BadReportError:
                return None
        return out

    def _unpack(self, row: bytes) -> tuple[Any, ...]:
        ends = list(itertools.accumulate(part.size for part in self.parts))
        starts = [0, *ends[:-1]]
        return tuple(
            part._unpack(row[start:end])
            for part, start, end in zip(self.parts, starts, ends, strict=True)
        )

    def split(self, reports: Reports) -> list[Reports]:
        """Return the reports to each question as an array of its own."""
        return [np.ascontiguousarray(reports[name]) for name, _ in self._named()]

    def cohorts_of(self, reports: Reports) -> Reports:
        """Return the cohort of each report: that of its first part in a cohort."""
        return next(cohorts for _, cohorts in self._cohorts(reports))

    def _cohorts(self, reports: Reports) -> Iterator[tuple[int, Reports]]:
        for i, (part, is_in) in enumerate(zip(self.parts, self.in_cohorts, strict=True)):
            if not is_in:
                continue
            own = reports[f"q{i}"]
            if isinstance(part, BitsByCohort):
                yield i, own["cohort"].astype(np.int64)
            else:
                assert isinstance(part, Category)
                yield i, own.astype(np.int64) // (part.count // (self.cohorts or 1))

    def _check_rows(self, reports: Reports) -> None:
        for i, (name, part) in enumerate(self._named()):
            try:
                part.check(reports[name])
            except BadReportError as error:
                raise BadReportError(
                    error.position, f"has a bad part for question {i}: it {error.rule}"
                ) from None
        if not any(self.in_cohorts):
            return
        (first, cohorts), *others = self._cohorts(reports)
        for i, other in others:
            apart = np.flatnonzero(other != cohorts)
            if len(apart):
                at = int(apart[0])
                self.refuse(
                    at,
                    f"its parts for questions {first} and {i} are in cohorts {cohorts[at]} and "
                    f"{other[at]}, but one person is in one cohort",
                )


def _check_tuple(report: object, count: int) -> None:
    if isinstance(report, tuple) and len(report) == count:
        return
    kind = type(report).__name__
    told = f"a {kind} of {len(report)}" if isinstance(report, tuple | list) else kind
    raise TypeError(f"a report to {count} questions is a tuple of {count} reports, not {told}")
