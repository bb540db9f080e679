"""Tokens: who may read results or metrics, administer, or submit where a key is asked for.

A token is 32 random bytes, written as text with a prefix that says what it is. Only its SHA-256 is
kept: the text is shown once, when it is made. A random token cannot be guessed, so that a plain
hash is enough; a slow one is for passwords.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Literal

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import check_name, listed, meant
from murmurs.collect.refusals import RefusedError
from murmurs.collect.stores.store import Token

Scope = Literal["read", "metrics", "admin", "submit"]

PREFIX = "murmurs_"
"""How every token begins, so that programs that look for lost secrets can find it."""

_BYTES = 32
_LONGEST = 200


def new_token(name: str, scope: Scope, surveys: tuple[str, ...] = ()) -> tuple[str, Token]:
    """Return a new random token as text, and what is kept of it.

    >>> text, token = new_token("dashboard", "read", ("coffee",))
    >>> text[:8], len(text), digest(text) == token.digest
    ('murmurs_', 51, True)
    """
    check_name(name, "a token")
    if "/" in name or name in (".", ".."):
        raise ValueError(
            f"the name {shown(name)} is part of the address at which the token is revoked, and "
            "must not be '.' or '..' or contain '/'"
        )
    for survey in surveys:
        check_name(survey, "a survey")
    secret = base64.urlsafe_b64encode(secrets.token_bytes(_BYTES)).rstrip(b"=").decode()
    text = PREFIX + secret
    return text, Token(name, digest(text), scope, surveys)


def warnings_of(surveys: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a warning for each survey of a token that the store does not have.

    >>> warnings_of(["cofee"], ["coffee"])[0][:70]
    "the store has no survey 'cofee', it has 'coffee': did you mean 'coffee"
    """
    names = tuple(dict.fromkeys(known))
    there = f"it has {listed(names)}" if names else "it has none"
    return [
        f"the store has no survey {shown(survey)}, {there}{meant(survey, names) or '.'} "
        "The token is of use once a survey of this name is served."
        for survey in surveys
        if survey not in names
    ]


def digest(text: str) -> bytes:
    """Return what is kept of a token."""
    return hashlib.sha256(text.encode()).digest()


def find(text: str, tokens: Iterable[Token]) -> Token | None:
    """Return the token with this text; the time it takes does not depend on the text."""
    wanted, found = digest(text), None
    for token in tokens:
        if hmac.compare_digest(token.digest, wanted):
            found = token
    return found


def holder(authorization: bytes | None, tokens: Iterable[Token]) -> Token | None:
    """Return the token in a header ``Authorization: Bearer ...``; None if there is no header.

    A header with anything else than one of the tokens is refused.
    """
    if authorization is None:
        return None
    kind, _, text = authorization.partition(b" ")
    if kind.lower() != b"bearer" or len(text) > _LONGEST or not text.isascii():
        raise unknown()
    found = find(text.strip().decode(), tokens)
    if found is None:
        raise unknown()
    return found


def covers(token: Token, survey: str | None) -> bool:
    """Whether a token is for a survey; None asks whether it is for all of them."""
    return not token.surveys or (survey is not None and survey in token.surveys)


def allows(token: Token, scope: Scope) -> bool:
    """Whether a token allows something: administrators may do everything."""
    return token.scope in (scope, "admin")


def unknown() -> RefusedError:
    """Return the refusal of a request without a valid token, the same whatever it asked for."""
    return RefusedError(
        401,
        "token",
        "this needs a valid token: send it as Authorization: Bearer <token>",
        headers={"WWW-Authenticate": "Bearer"},
    )


def not_allowed(scope: Scope) -> RefusedError:
    """Return the refusal of a valid token that does not allow what was asked."""
    return RefusedError(403, "scope", f"this token does not allow it: it needs the scope {scope!r}")


def not_for_all() -> RefusedError:
    """Return the refusal of a token for some surveys where one for all is needed."""
    return RefusedError(403, "scope", "this needs a token for all surveys; this one is for some")
