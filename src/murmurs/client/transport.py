"""Transport: how submissions reach a collector, by default over HTTPS with the standard library."""

from __future__ import annotations

import email.utils
import http.client
import ipaddress
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from murmurs.boundary.checks import shown
from murmurs.submission import BINARY_TYPE

USER_AGENT = "murmurs"
"""The same for every version and system, so that it tells nothing about a device."""

_MOST_READ = 2**16


@dataclass(frozen=True)
class Reply:
    """What a collector answered: the status of HTTP, the body, and the field Retry-After.

    ``date`` is the time of the answer by the collector's clock, in seconds since 1970, if known.
    """

    status: int
    body: bytes = b""
    retry_after: str | None = None
    date: int | None = None


class NotSentError(OSError):
    """The collector could not be reached, so it has not got the whole request."""


Transport = Callable[[bytes], Reply]
"""Takes the body of a request to the collector; raises an `OSError` if there was no answer.

A `NotSentError` says that the collector cannot have taken it either. A transport may also have a
method ``time()``, which asks the collector for its time and returns None if it tells none.
"""


class HTTP:
    """Posts to a collector over HTTPS; certificates are verified, redirects are not followed.

    ``address`` is that of the collector, such as "https://collect.example.org". Plain HTTP is for
    this machine only, unless ``plain`` allows it. ``key`` is the survey's key, if submissions need
    one; it is the same for all devices. A request has no cookie and the same fields every time.
    """

    def __init__(
        self, address: str, *, key: str | None = None, timeout: float = 30.0, plain: bool = False
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ValueError(
                f"the address of a collector is like https://collect.example.org, not "
                f"{shown(address)}"
            )
        if parts.scheme == "http" and not plain and not _is_here(parts.hostname):
            raise ValueError(
                f"{shown(address)} is not encrypted: anyone on the way could see and hold back "
                "submissions. Use https, or plain=True within a network that you trust"
            )
        self._url = address.rstrip("/") + "/submissions"
        self._health = address.rstrip("/") + "/health"
        self._headers = {"Content-Type": BINARY_TYPE, "User-Agent": USER_AGENT}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout = timeout
        handlers: list[Any] = [
            _NoRedirect,
            urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        ]
        if _is_here(parts.hostname):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy would look for itself
        self._opener = urllib.request.build_opener(*handlers)

    def __call__(self, body: bytes) -> Reply:
        """Post one request and return the answer, whatever its status."""
        return self._asked(urllib.request.Request(self._url, body, self._headers, method="POST"))

    def time(self) -> int | None:
        """Ask for nothing but the collector's time, which is in every answer, whatever its status.

        The request has neither body nor key.
        """
        fields = {"User-Agent": USER_AGENT, "Cache-Control": "no-cache"}
        return self._asked(urllib.request.Request(self._health, headers=fields)).date

    def _asked(self, request: urllib.request.Request) -> Reply:
        try:
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    return _reply(answer.status, answer)
            except urllib.error.HTTPError as error:
                with error:
                    return _reply(error.code, error)
        except urllib.error.URLError as error:  # while connecting or sending
            raise NotSentError(str(error.reason)) from None
        except http.client.HTTPException as error:
            raise OSError(f"the collector's answer is not HTTP: {type(error).__name__}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another host would see the submission, and perhaps the key."""

    def http_error_302(self, *_: Any, **__: Any) -> None:
        """Leave the answer as it is, whatever address it names."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _reply(status: int, answer: Any) -> Reply:
    fields = answer.headers
    body = answer.read(_MOST_READ)
    return Reply(status, body, fields.get("Retry-After"), seconds_of(fields.get("Date")))


def seconds_of(date: str | None) -> int | None:
    """Return the seconds since 1970 of a date as HTTP writes it; None for anything else.

    >>> seconds_of("Fri, 31 Dec 2027 23:59:59 GMT"), seconds_of("soon"), seconds_of(None)
    (1830297599, None, None)
    """
    try:
        found = int(email.utils.parsedate_to_datetime(date or "").timestamp())
    except (ValueError, OverflowError, TypeError):
        return None
    return found if found > 0 else None


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
