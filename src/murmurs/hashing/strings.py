"""Strings as answers: one normal form, four 64-bit keys, and lists of candidates.

The keys of a string are the four little-endian 64-bit numbers of the SHA-256 of its UTF-8 bytes in
Unicode's normal form C. So "Zürich" is one answer, however its ü was typed. Keys are hashed into
rows and buckets like any other key (`murmurs.numerics.xxh32`), and take turns: hash number j uses
key j mod 4. With a single key, two strings that collide under one seed of XXH32 would collide under
most seeds near it. Known answers are in ``vectors/strings.json``.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown, utf8

MOST_CANDIDATES = 2**22
KEYS = 4


def normal(text: object) -> str:
    r"""Return a string in normal form C; refuse what is empty or not Unicode text.

    Errors do not quote the string, since it may be an answer.

    >>> normal("Zu\u0308rich") == "Z\u00fcrich"
    True
    """
    if type(text) is str and text and text.isascii():
        return text
    if not isinstance(text, str):
        raise TypeError(
            f"an answer to an open question is a string, not of type {type(text).__name__}"
        )
    if not text:
        raise ValueError("an answer to an open question is a string that is not empty")
    half = utf8(text)
    if isinstance(half, int):
        raise ValueError(f"an answer to an open question {_NO_TEXT} {half}")
    return unicodedata.normalize("NFC", text)


_NO_TEXT = "is no Unicode text: it has half of a surrogate pair at place"


def key(text: str, number: int = 0) -> int:
    """Return one of the four 64-bit keys of a string, which a device hashes.

    >>> hex(key("Zürich"))
    '0x35b6ca065e685142'
    """
    at = 8 * (number % KEYS)
    return int.from_bytes(_digest(normal(text))[at : at + 8], "little")


def keys(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return the keys of many strings, one line for each of the four keys."""
    digests = b"".join(map(_digest, normals(texts)))
    by_text = np.frombuffer(digests, "<u8").reshape(-1, KEYS)
    return np.ascontiguousarray(by_text.T, np.uint64)


def normals(texts: Iterable[str]) -> list[str]:
    """Return strings in normal form; those that are in it already are looked at all at once."""
    listed = list(texts)
    if not all(listed) or not all(type(text) is str for text in listed):
        return [normal(text) for text in listed]
    whole = "\n".join(listed)  # a letter that no other joins
    if whole.isascii() or (
        not isinstance(utf8(whole), int) and unicodedata.is_normalized("NFC", whole)
    ):
        return listed
    return [normal(text) for text in listed]


def _digest(form: str) -> bytes:
    return hashlib.sha256(form.encode()).digest()


def candidates(texts: Sequence[object], check: Callable[[object], str] = normal) -> tuple[str, ...]:
    """Return a checked list of different candidates; the error lists wrong ones by line.

    >>> candidates(["tea", "coffee", "", "tea"])
    Traceback (most recent call last):
    ValueError: 2 of 4 strings cannot be taken: line 3: it is empty; line 4: 'tea' is the same
    as line 1
    """
    if isinstance(texts, str | bytes):
        raise TypeError("candidates are a list of strings, not one string")
    if not isinstance(texts, Sequence):
        texts = list(texts)
    if len(texts) > MOST_CANDIDATES:
        raise ValueError(
            f"there are {len(texts)} candidates, at most {MOST_CANDIDATES} are allowed"
        )
    seen: dict[str, int] = {}
    wrong: list[str] = []
    for line, text in enumerate(texts, 1):
        why_impossible = why_refused(text)
        if why_impossible:
            wrong.append(f"line {line}: {why_impossible}")
            continue
        form = check(text)
        if form in seen:
            wrong.append(f"line {line}: {shown(text)} is the same as line {seen[form]}")
        seen.setdefault(form, line)
    if wrong:
        more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ValueError(
            f"{len(wrong)} of {len(texts)} strings cannot be taken: {'; '.join(wrong[:5])}{more}"
        )
    return tuple(seen)


def why_refused(text: object) -> str | None:
    """Return what is wrong with a candidate; it is not an answer and may be quoted."""
    if type(text) is str and text and text.isascii():
        return None
    if not isinstance(text, str):
        return f"{shown(text)} is not a string"
    half = utf8(text)
    if isinstance(half, int):
        return f"{shown(text)} {_NO_TEXT} {half}"
    return None if text else "it is empty"
