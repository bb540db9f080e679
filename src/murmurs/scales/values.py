"""Values on a scale as numbers, and the text that shows a number.

Dates become days since 1970-01-01, durations seconds. Text is read as files and command lines have
it: "37", "12.5", "2027-03-31", "1:30:00" or "90".
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from murmurs.boundary.frames import UNEQUAL

Kind = Literal["numbers", "dates", "durations", "scores"]
"""What the answers on a scale are."""

LARGEST = 2.0**53
"""The largest edge: up to here, whole numbers are exact in a float."""

_DAY_ZERO = dt.date(1970, 1, 1).toordinal()
LAST_DAY = float(dt.date.max.toordinal() - _DAY_ZERO)
"""The last date that there is: 9999-12-31."""

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
        return _seconds(value) if kind == "durations" else None
    if isinstance(value, np.floating) and value.itemsize < 8:  # 0.7 must be on the edge 0.7
        return _finite(str(value))
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
        parts = [_from_text(part, "numbers") for part in text.removeprefix("-").split(":")]
        if len(parts) > 3 or any(part is None or part < 0 for part in parts):
            return None
        hours, minutes, seconds = [*(p or 0.0 for p in parts), 0.0][:3]
        if max(minutes, seconds) >= 60:
            return None
        total = 3600 * hours + 60 * minutes + seconds
        return -total if text.startswith("-") else total
    if not text.isascii() or "_" in text:  # Python reads 1_000 and １ as numbers, others do not
        return None
    return _finite(text)


def _seconds(value: np.timedelta64) -> float | None:
    if np.datetime_data(value.dtype)[0] in UNEQUAL:
        return None
    return _finite(value / np.timedelta64(1, "s"))


def _day(value: Any) -> float | None:
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else float(value.astype("datetime64[D]").astype(np.int64))
    if isinstance(value, dt.date):  # datetimes and pandas' timestamps are dates, too
        return float(value.toordinal() - _DAY_ZERO)
    return None


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


def whole_period(first: float, last: float) -> str | None:
    """Return the year or the month that consists of the days from one to another, if one does.

    >>> whole_period(0.0, 364.0), whole_period(0.0, 30.0), whole_period(0.0, 29.0)
    ('1970', '1970-01', None)
    """
    one, after = value_text(first, "dates"), value_text(last + 1, "dates")
    year, month = int(one[:4]), int(one[5:7])
    if one == f"{year:04}-01-01" and after == f"{year + 1:04}-01-01":
        return one[:4]
    following = f"{year + month // 12:04}-{month % 12 + 1:02}-01"
    return one[:7] if one.endswith("-01") and after == following else None


def _clock(seconds: float, digits: int | None) -> str:
    sign, seconds = "-" * (seconds < 0), abs(seconds)
    exact = f"{seconds!r}".removesuffix(".0")
    shown = exact if digits is None else f"{seconds:.{max(digits, 0)}f}"
    whole, point, rest = shown.partition(".")
    minutes, last = divmod(int(whole), 60)
    return f"{sign}{minutes // 60}:{minutes % 60:02}:{last:02}{point}{rest}"
