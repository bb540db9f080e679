"""Bodies: read from a client within limits of size, time and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from murmurs.collect.http.limits import Room
from murmurs.collect.refusals import RefusedError

Headers = Iterable[tuple[bytes, bytes]]
"""The headers of a request, with their names in small letters."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGoneError(Exception):
    """The client closed the connection before its request was complete."""


def header(headers: Headers, name: bytes) -> bytes | None:
    """Return the value of a header; None if it is not there.

    >>> header([(b"a", b"1"), (b"b", b"2")], b"b")
    b'2'
    """
    for key, value in headers:
        if key == name:
            return value
    return None


def announced(headers: Headers) -> int | None:
    """Return the length that a request announces for its body, if it does."""
    text = header(headers, b"content-length")
    return int(text) if text is not None and text.isdigit() else None


async def read_body(
    receive: Receive, length: int | None, most: int, seconds: float, room: Room
) -> bytes:
    """Return the body of a request; refuse one that is too long or too slow."""
    if length is not None and length > most:
        raise too_long(most)
    try:
        async with asyncio.timeout(seconds):
            body, more = await _part(receive)
            parts, size = [body], len(body)
            room.take(size)
            while more and size <= most:
                body, more = await _part(receive)
                room.take(len(body))
                parts.append(body)
                size += len(body)
    except TimeoutError:
        raise RefusedError(
            408,
            "slow",
            f"the body did not arrive within {seconds:g} seconds",
            headers={"Connection": "close"},
        ) from None
    if size > most:
        raise too_long(most)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_long(most: int) -> RefusedError:
    """Return the refusal of a body that is too long."""
    return RefusedError(413, "size", f"the body is longer than {most} bytes: send it in parts")


async def _part(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGoneError
    return message.get("body", b""), message.get("more_body", False)
