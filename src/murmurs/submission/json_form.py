"""Submissions in JSON, read strictly: no field is unknown, and no key occurs twice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from murmurs.boundary.checks import shown
from murmurs.submission.submission import ID_BYTES, NO_SUBMISSION, BadSubmissionError


class JSONForm(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The fields of a submission; its reports are still text, and nobody has looked at them."""

    survey: str
    id: str
    reports: dict[str, msgspec.Raw]
    segment: str | msgspec.UnsetType | None = msgspec.UNSET


_decode_one = msgspec.json.Decoder(JSONForm).decode
_decode_some = msgspec.json.Decoder(list[JSONForm] | JSONForm).decode
_decode_column = msgspec.json.Decoder(list[Any] | str).decode
_decode_columns = msgspec.json.Decoder(list[list[Any] | str]).decode


def one_in(data: bytes) -> JSONForm:
    """Return the fields of the one submission in JSON."""
    try:
        return _decode_one(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(error) from None


def some_in(data: bytes) -> list[JSONForm]:
    """Return the fields of the submissions in JSON: one object, or a list of them."""
    try:
        found = _decode_some(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(error) from None
    several = found if isinstance(found, list) else [found]
    if not several:
        raise BadSubmissionError("form", "this list has no submission")
    return several


def column_in(texts: list[msgspec.Raw]) -> list[list[Any] | str]:
    """Return the reports to a question in each of some submissions: JSON values, or text."""
    if len(texts) > 1:
        with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
            return _decode_columns(b"[%b]" % b",".join(texts))
    try:
        return [_decode_column(text) for text in texts]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(error) from None


def ids_of(texts: list[str]) -> bytes:
    """Return the bytes of ids in hexadecimal digits, one after another."""
    text = "".join(texts)
    try:
        ids = bytes.fromhex(text)
    except ValueError:
        ids = b""
    if ids.hex() != text or set(map(len, texts)) != {2 * ID_BYTES}:
        raise BadSubmissionError("form", f"an id is {2 * ID_BYTES} digits 0-9 and a-f")
    return ids


def _refusal(error: Exception) -> BadSubmissionError:
    deep = isinstance(error, RecursionError)
    rule = "it is nested too deeply" if deep else shown(str(error), 300)
    return BadSubmissionError("form", f"{NO_SUBMISSION}: {rule}")


def refuse_repeated_keys(data: bytes, found: Iterable[tuple[JSONForm, int]]) -> None:
    """Refuse an object with a key twice, of which the fast reader has kept the last.

    Each submission that was found stands for so many with the same names and segment. The reports
    must have been read: they have no colons then, and each colon in a text without escapes belongs
    to a key or is in a name. A key that is there twice makes one too many.
    """
    colons = sum(_colons(one) * count for one, count in found)
    if b"\\" not in data and data.count(b":") == colons:
        return
    try:
        json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise BadSubmissionError("form", f"{NO_SUBMISSION}: {error}") from None


def _colons(one: JSONForm) -> int:
    """Return how many colons a submission has if no key is there twice."""
    names = sum(1 + name.count(":") for name in one.reports)
    if one.segment is msgspec.UNSET:
        return 3 + names
    return 4 + names + (one.segment.count(":") if isinstance(one.segment, str) else 0)


def _once(pairs: list[tuple[str, Any]]) -> None:
    keys: set[str] = set()
    for key, _ in pairs:
        if key in keys:
            raise ValueError(f"the key {shown(key)} occurs twice")
        keys.add(key)
