"""Replies: what goes back to a client, with the headers that keep browsers from guessing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from murmurs.collect.refusals import RefusedError

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON = "application/json"

STRICT = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-site"),
)
"""Headers of every reply: it is data, never a page, and nobody may frame it or guess its type."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Reply:
    """A status, a body and its media type, and further headers; a body may come in parts."""

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        """Send the reply; results and secrets are never kept by caches unless it says so."""
        head = [*STRICT, (b"content-type", self.media.encode())]
        if "Cache-Control" not in self.headers:
            head.append((b"cache-control", b"no-store"))
        head += [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        whole = isinstance(self.body, bytes)
        if isinstance(self.body, bytes) and self.status not in (204, 304):
            head.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": head})
        if not whole:
            for part in self.body:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": self.body if whole else b""})


def json_reply(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Reply:
    """Return a reply with a document as JSON."""
    return Reply(_encode(document), status, headers=headers or {})


def refused(refusal: RefusedError) -> Reply:
    """Return the reply that tells a client about a refusal."""
    return json_reply(refusal.document(), refusal.status, refusal.headers)
