"""Checks of input from outside, and how errors quote a value.

An error names the value, the rule and the way out. A value that may be a person's answer is never
quoted; the error gives its position instead.
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxother = 2, 1000


def shown(value: object, most: int = 40) -> str:
    r"""Return a value as errors quote it: short, and without control characters.

    >>> print(shown("tea"), shown("a" * 10**6, 5), shown("\x1b[31m"), shown(10**400))
    'tea' 'aaaaa'... (1000000 in all) '\x1b[31m' about 10**400
    """
    if isinstance(value, str | bytes | bytearray):
        rest = "" if len(value) <= most else f"... ({len(value)} in all)"
        return _printable(repr(value[:most])) + rest
    if isinstance(value, int) and value.bit_length() > 3 * most:
        return f"about {'-' * (value < 0)}10**{round(math.log10(abs(value)))}"
    try:
        text = " ".join(_SHORT.repr(value).split())
    except Exception:  # if the value's own repr fails, name its type
        text = f"some {type(value).__name__}"
    return _printable(text if len(text) <= most else f"{text[:most]}...")


def _printable(text: str) -> str:
    """Return text with every character escaped that is invisible or would control a screen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def utf8(text: str) -> bytes | int:
    """Return a string in UTF-8, or the position of the first half of a surrogate pair in it.

    Python's own error would contain the whole string.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        return error.start


def index(value: object) -> int | None:
    """Return a whole number as an int, and None for anything else, including booleans."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(cast(Any, value))
    except Exception:  # the error of an unknown type could quote the value
        return None


def whole(value: object, name: str, low: int, high: int) -> int:
    """Return ``value`` as an int from ``low`` to ``high``; floats and booleans are refused.

    >>> whole(3, "k", 2, 10)
    3
    >>> whole(True, "k", 2, 10)
    Traceback (most recent call last):
    TypeError: k must be a whole number, not True
    """
    number = index(value)
    if number is None:
        raise TypeError(f"{name} must be a whole number, not {shown(value)}")
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {shown(number)}")
    return number


def real(value: object, name: str, low: float, high: float) -> float:
    """Return ``value`` as a float from ``low`` to ``high``; booleans, text and NaN are refused."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise TypeError(f"{name} must be a number, not {shown(value)}")
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {shown(value)}") from None
    except OverflowError:
        raise ValueError(f"{name} must be from {low:g} to {high:g}, not {shown(value)}") from None
    if not low <= number <= high:  # NaN fails this too
        raise ValueError(f"{name} must be from {_exactly(low)} to {_exactly(high)}, not {number:g}")
    return number


def _exactly(number: float) -> str:
    """Return a limit in six digits if they are exact, otherwise in all its digits."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def integers(
    values: object, name: str, *, ndim: int | None = 1, of_labels: str = ""
) -> NDArray[np.integer[Any]]:
    """Return ``values`` as an array of whole numbers; errors give the position of anything else.

    Values are not quoted, since they may be answers. Lists are searched, because NumPy would read
    True among numbers as 1. ``ndim`` is the required number of dimensions, or None for any;
    ``of_labels`` is the way out that errors suggest for text.
    """
    if isinstance(values, list | tuple):
        _refuse_stranger(values, name, of_labels)
    try:
        array: NDArray[Any] | None = np.asarray(values)
    except ValueError:
        array = None
    if array is None:
        raise ValueError(f"{name} must be a table of whole numbers: its rows differ in length")
    if array.ndim == 0:
        raise TypeError(f"{name} must be a list or an array, not {type(values).__name__}")
    if array.dtype.kind == "O":
        _refuse_stranger(array.tolist(), name, of_labels)
        try:
            array = array.astype(np.int64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be whole numbers, and some are arrays") from None
    if array.size == 0 and ndim in (None, array.ndim):
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        way_out = _WAYS_OUT.get(array.dtype.kind, of_labels)
        told = "text" if array.dtype.kind in "UST" else array.dtype  # its dtype reveals the length
        raise TypeError(f"{name} must be whole numbers, not {told}{way_out}")
    if ndim not in (None, array.ndim):
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    return cast("NDArray[np.integer[Any]]", array)


_WAYS_OUT = {
    "b": ": write 0 and 1, or take .astype(int)",
    "f": ": take .astype(int) if they are whole",
}
"""What errors suggest for values of the wrong kind, by NumPy's letter for the kind."""


def _refuse_stranger(values: Sequence[Any], name: str, of_labels: str) -> None:
    found = _stranger(values)
    if found is None:
        return
    position, value = found
    where = ", ".join(map(str, position))
    if index(value) is not None:
        raise ValueError(f"{name} must fit into 64 bits, number {where} does not")
    kind = type(value).__name__
    way_out = of_labels if isinstance(value, str | bytes) else ""
    if isinstance(value, bool | np.bool_ | float | np.floating):
        way_out = _WAYS_OUT["f" if isinstance(value, float | np.floating) else "b"]
    raise TypeError(f"{name} must be whole numbers, number {where} is of type {kind}{way_out}")


def _stranger(
    values: Sequence[Any], at: tuple[int, ...] = ()
) -> tuple[tuple[int, ...], Any] | None:
    """Return position and value of the first item in nested lists that is no 64-bit integer."""
    if set(map(type, values)) == {int} and -(2**63) <= min(values) <= max(values) < 2**63:
        return None
    for position, value in enumerate(values):
        here = (*at, position)
        if isinstance(value, list | tuple) and len(at) < _DEEPEST:
            found = _stranger(value, here)
            if found:
                return found
        elif isinstance(value, np.ndarray) and value.dtype.kind not in "iu":
            inner = value.tolist()
            found = _stranger(inner, here) if isinstance(inner, list) else _stranger([inner], at)
            if found:
                return (here, found[1]) if value.ndim == 0 else found
        elif not isinstance(value, np.ndarray):
            number = index(value)
            if number is None or not -(2**63) <= number < 2**63:
                return here, value
    return None


_DEEPEST = 8
"""Nesting up to which lists are searched; no table of numbers is that deep."""
