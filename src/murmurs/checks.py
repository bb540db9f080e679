"""Checks of plain numbers that come from outside, each with the value and the rule in its error."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def whole(value: object, name: str, low: int, high: int) -> int:
    """Return ``value`` as an int from ``low`` to ``high``; floats and booleans are refused.

    >>> whole(3, "k", 2, 10)
    3
    >>> whole(True, "k", 2, 10)
    Traceback (most recent call last):
    TypeError: k must be a whole number, not True
    """
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a whole number, not {value}")
    try:
        number = operator.index(cast(Any, value))
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {number}")
    return number


def real(value: object, name: str, low: float, high: float) -> float:
    """Return ``value`` as a float from ``low`` to ``high``; booleans, text and NaN are refused."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    except OverflowError:
        number = math.inf
    if not low <= number <= high:  # NaN fails this too
        raise ValueError(f"{name} must be from {_exactly(low)} to {_exactly(high)}, not {number:g}")
    return number


def _exactly(number: float) -> str:
    """Return a limit with as many digits as it takes to tell it from the next short number."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def shown(value: object, most: int = 40) -> str:
    """Return a value as Python writes it, for a message: shortened, control characters escaped.

    >>> shown("tea"), shown("tea" * 1000, most=7)
    ("'tea'", "'teateat'… (3000 characters)")
    >>> shown(10**400)
    'a whole number of about 401 digits'
    """
    if isinstance(value, str | bytes):
        unit = "characters" if isinstance(value, str) else "bytes"
        cut = f"… ({len(value)} {unit})" if len(value) > most else ""
        return f"{value[:most]!r}{cut}"
    if isinstance(value, int) and value.bit_length() > 4 * most:
        return f"a whole number of about {1 + int(value.bit_length() * math.log10(2))} digits"
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = brief.maxlong = most
    text = brief.repr(value)
    return text if len(text) <= 2 * most else f"{text[: 2 * most]}…"


def integers(values: object, name: str) -> NDArray[np.integer[Any]]:
    """Return ``values`` as a one-dimensional integer array; other kinds of number are refused."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    return cast("NDArray[np.integer[Any]]", array)


def first_outside(values: NDArray[Any], low: int, high: int) -> tuple[int, int] | None:
    """Return position and value of the first number outside ``low``..``high``, if any is."""
    if values.size == 0 or (int(values.min()) >= low and int(values.max()) <= high):
        return None
    where = int(np.argmax((values < low) | (values > high)))
    return where, int(values[where])
