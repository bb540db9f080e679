"""Strict reading of JSON, and writing of its canonical form."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec

from murmurs.boundary.checks import shown


def document(data: str | bytes) -> Any:
    """Return the value of a JSON text; refuse what other JSON readers may read differently.

    That includes duplicate keys, infinite numbers and NaN, and very deep nesting.

    >>> document(b'{"n": 1, "n": 2}')
    Traceback (most recent call last):
    ValueError: this JSON is not accepted: the key 'n' occurs twice
    """
    try:
        return json.loads(
            data.decode() if isinstance(data, bytes) else data,
            object_pairs_hook=_once,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except RecursionError:
        reason = "this JSON is not accepted: it is nested too deeply"
    except UnicodeDecodeError as error:
        reason = f"this is not JSON: it is not UTF-8 ({error.reason} at byte {error.start + 1})"
    except json.JSONDecodeError as error:
        reason = "it is empty" if not error.doc.strip() else f"this is not JSON: {error}"
    except _UnfitError as error:
        reason = f"this JSON is not accepted: {error}"
    except ValueError:  # Python reads whole numbers of up to 4,300 digits
        reason = "this JSON is not accepted: a number has thousands of digits"
    raise ValueError(reason)  # here, since the errors above hold the whole text


class _UnfitError(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _UnfitError(f"the key {shown(key)} occurs twice")
        found[key] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _UnfitError(f"{text[:40]} is not a finite number")
    return number


def fields(found: object, wanted: tuple[str, ...], what: str) -> dict[str, Any]:
    """Return an object if it has exactly these fields; otherwise report which one is wrong."""
    if not isinstance(found, dict):
        raise ValueError(f"{what} must be a JSON object, not {shown(found)}")
    for name in wanted:
        if name not in found:
            raise ValueError(f"{what} has no field {name!r}")
    for name in found:
        if name not in wanted:
            raise ValueError(f"{what} has an unknown field {shown(name)}")
    return found


def canonical(value: Any) -> str:
    """Return canonical JSON (RFC 8785): keys sorted, no spaces, numbers as in ECMAScript.

    >>> canonical({"b": [1.0, 1e-6, 0.5, "ü"], "a": None})
    '{"a":null,"b":[1,0.000001,0.5,"ü"]}'
    """
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if isinstance(value, float):
        return _ecmascript_number(value)
    return json.dumps(value, ensure_ascii=False)


def _ecmascript_number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written in JSON")
    if value == 0:
        return "0"  # also for -0.0
    if value == int(value) and abs(value) < 1e21:
        return format(Decimal(repr(value)), "f").removesuffix(".0")  # the shortest digits, then 0s
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    power = int(exponent)
    if -7 < power < 0:  # ECMAScript writes these without an exponent
        digits = mantissa.replace(".", "").lstrip("-")
        return ("-" if value < 0 else "") + "0." + "0" * (-power - 1) + digits
    return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"


@contextlib.contextmanager
def reading_as(what: str) -> Iterator[None]:
    """Turn a reader's error into one short sentence; it may quote the document."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"this is not {what}: it is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError) as error:
        text = str(error)
        reason = text if len(text) <= 200 and text.isprintable() else shown(text, 200)
        raise ValueError(f"this is not {what}: {reason}") from None
