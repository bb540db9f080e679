"""Values on a scale as numbers: one value, a column of them, and the text that shows one.

Dates become days since 1970-01-01, durations seconds. Text is read as files and command lines have
it: "37", "12.5", "2027-03-31", "1:30:00" or "90".
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.answers import coded
from murmurs.boundary.frames import MISSING, numeric_column
from murmurs.numerics.arrays import Floats

Kind = Literal["numbers", "dates", "durations", "scores"]
"""What the answers on a scale are."""

LARGEST = 2.0**53
"""The largest edge: up to here, whole numbers are exact in a float."""

_DAY_ZERO = dt.date(1970, 1, 1).toordinal()
_SECOND = dt.timedelta(seconds=1)


def number_of(value: Any, kind: Kind) -> float | None:
    """Return the number that a value stands for, or None if it stands for none.

    >>> number_of("37", "numbers"), number_of(dt.date(1970, 1, 3), "dates")
    (37.0, 2.0)
    >>> number_of("1:30:00", "durations"), number_of(True, "numbers")
    (5400.0, None)
    """
    if isinstance(value, bool | np.bool_ | bytes) or value is None:
        return None
    if isinstance(value, str):
        return _from_text(value.strip(), kind)
    if kind == "dates":
        return _day(value)
    if kind == "durations" and isinstance(value, dt.timedelta):
        return value / _SECOND
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s")) if kind == "durations" else None
    if isinstance(value, int | float | Decimal | Fraction | np.integer | np.floating):
        return _finite(value)
    return None


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _from_text(text: str, kind: Kind) -> float | None:
    if kind == "dates":
        try:
            return _day(dt.datetime.fromisoformat(text))
        except ValueError:
            return None
    if kind == "durations" and ":" in text:
        parts = [_from_text(part, "numbers") for part in text.split(":")]
        if len(parts) > 3 or any(part is None or part < 0 for part in parts):
            return None
        hours, minutes, seconds = [*(p or 0.0 for p in parts), 0.0][:3]
        return 3600 * hours + 60 * minutes + seconds
    if not text or "_" in text:  # Python reads 1_000 as a number, other languages do not
        return None
    return _finite(text)


def _day(value: Any) -> float | None:
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else float(value.astype("datetime64[D]").astype(np.int64))
    if isinstance(value, dt.date):  # datetimes and pandas' timestamps are dates, too
        return float(value.toordinal() - _DAY_ZERO)
    return None


class Column(NamedTuple):
    """Numbers, one for each row; which rows are missing, and which are no numbers at all."""

    numbers: Floats
    missing: NDArray[np.bool_]
    strange: NDArray[np.bool_]


def numbers_in(answers: object, kind: Kind) -> Column:
    """Return a column of values as numbers; a column that is numeric already is not looped over."""
    found = numeric_column(answers, kind)
    if found is not None:
        numbers, missing = found
        return Column(numbers, missing, np.zeros(len(numbers), np.bool_))
    column = coded(answers)
    read = [number_of(value, kind) for value in column.values]
    table = np.array([math.nan if number is None else number for number in [*read, None]])
    numbers, missing = table[column.codes], np.asarray(column.codes == MISSING)
    return Column(numbers, missing, np.isnan(numbers) & ~missing)


def value_text(number: float, kind: Kind, digits: int | None = None) -> str:
    """Return a number on a scale as people write it; ``digits`` are those behind the point.

    >>> value_text(2.0, "dates"), value_text(5400.0, "durations"), value_text(0.5, "numbers")
    ('1970-01-03', '1:30:00', '0.5')
    """
    number = float(number)  # of NumPy, its repr names the type
    if math.isinf(number):
        return "-inf" if number < 0 else "inf"
    if kind == "dates":
        return dt.date.fromordinal(_DAY_ZERO + round(number)).isoformat()
    if kind == "durations":
        return _clock(number, digits)
    if digits is not None:
        return f"{number:,.{digits}f}" if digits > 0 else f"{round(number, digits):,.0f}"
    return f"{int(number)}" if number == int(number) else f"{number!r}"


def _clock(seconds: float, digits: int | None) -> str:
    sign, seconds = "-" * (seconds < 0), abs(seconds)
    shown = f"{seconds:.{max(digits, 0)}f}" if digits is not None else f"{seconds!r}"
    whole, point, rest = shown.removesuffix(".0").partition(".")
    minutes, last = divmod(int(whole), 60)
    return f"{sign}{minutes // 60}:{minutes % 60:02}:{last:02}{point}{rest}"
