"""Submissions in JSON, read strictly: no field is unknown, and no key occurs twice."""

from __future__ import annotations

from typing import Any

import msgspec

from murmurs.boundary.checks import shown
from murmurs.boundary.documents import document
from murmurs.submission.submission import ID_BYTES, NO_SUBMISSION, BadSubmissionError


class JSONForm(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a submission, with its reports not checked yet."""

    survey: str
    id: str
    reports: dict[str, list[Any] | str]
    segment: str | None = None


_MOST_KEYS = 100
"""The most keys that are looked for one by one: each takes a search through the whole text."""

_decode_one = msgspec.json.Decoder(JSONForm).decode
_decode_some = msgspec.json.Decoder(list[JSONForm] | JSONForm).decode


def one_in(data: bytes) -> JSONForm:
    """Return the fields of the one submission in JSON."""
    try:
        found = _decode_one(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(error) from None
    _refuse_repeated_keys(data, [found])
    return found


def some_in(data: bytes) -> list[JSONForm]:
    """Return the fields of the submissions in JSON: one object, or a list of them."""
    try:
        found = _decode_some(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(error) from None
    several = found if isinstance(found, list) else [found]
    if not several:
        raise BadSubmissionError("form", "this list has no submission")
    _refuse_repeated_keys(data, several)
    return several


def identity_of(text: str) -> bytes:
    """Return the bytes of an id in hexadecimal digits."""
    try:
        identity = bytes.fromhex(text)
    except ValueError:
        identity = b""
    if identity.hex() != text or len(identity) != ID_BYTES:
        raise BadSubmissionError("form", f"an id is {2 * ID_BYTES} digits 0-9 and a-f")
    return identity


def _refusal(error: Exception) -> BadSubmissionError:
    deep = isinstance(error, RecursionError)
    rule = "it is nested too deeply" if deep else shown(str(error), 300)
    return BadSubmissionError("form", f"{NO_SUBMISSION}: {rule}")


def _refuse_repeated_keys(data: bytes, found: list[JSONForm]) -> None:
    """Refuse an object with a key twice, of which the fast reader has kept the last."""
    if not _may_repeat_a_key(data, found):
        return
    try:
        document(data)
    except ValueError as error:
        raise BadSubmissionError("form", f"{NO_SUBMISSION}: {error}") from None


def _may_repeat_a_key(data: bytes, found: list[JSONForm]) -> bool:
    """Whether some object may have a key twice.

    Without escapes, a key that is used n times occurs n times between quotation marks. If it occurs
    more often, it may also be within a value: then the strict reader decides.
    """
    if b"\\" in data:
        return True
    keys = {b"survey": len(found), b"id": len(found), b"reports": len(found)}
    keys[b"segment"] = sum(one.segment is not None for one in found)
    for one in found:
        for name in one.reports:
            key = name.encode()
            keys[key] = keys.get(key, 0) + 1
    if len(keys) > _MOST_KEYS:
        return True
    return any(data.count(b'"' + key + b'"') != count for key, count in keys.items())
