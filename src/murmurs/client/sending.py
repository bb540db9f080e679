"""Sending: what a collector's answer means for the submissions of a request, and when to try again.

A submission leaves the queue when the collector acknowledges it, or refuses it for good with a
reason of its own. Whatever else happens, it stays and is sent again with the same id, but not for
ever: a request may arrive although its answer is lost, and a collector forgets ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from murmurs.boundary.checks import shown
from murmurs.client.state import Queued, State
from murmurs.client.transport import NotSentError, Reply, Transport, seconds_of
from murmurs.randomness.verbs import Randomness

FOR_GOOD = frozenset({400, 404, 409, 410, 413, 415, 422})
"""Statuses with which a collector refuses a submission that it would always refuse."""

FIRST_WAIT = 60
LONGEST_WAIT = 86_400
"""The seconds until the next try after one failure, and at most."""


@dataclass(frozen=True)
class Refusal:
    """A submission that left the queue without being taken, as far as the client knows.

    The collector refused it for good, or the status is 0, and sending it again might count it
    twice.
    """

    id: str
    status: int
    reason: str


@dataclass(frozen=True)
class Sent:
    """What sending has done: how many submissions were taken, refused, and still wait."""

    taken: int
    refused: tuple[Refusal, ...]
    waiting: int
    problem: str | None
    """Why something that is due was not sent: the last request failed. It is tried again later."""
    next_send_after: int | None
    """When to send again, in seconds since 1970; None if nothing waits."""


def meaning(reply: Reply, count: int) -> tuple[Literal["taken", "refused", "failed"], str]:
    """Return what an answer to a request with so many submissions means, and its reason.

    Only the collector's own form counts as a yes or no: a portal of a network also answers 200.
    """
    found: Any
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    said = found if isinstance(found, dict) else {}
    if reply.status == 200:
        accepted: Any = said.get("accepted")
        duplicates: Any = said.get("duplicates")
        numbers = type(accepted) is int and type(duplicates) is int
        if numbers and min(accepted, duplicates) >= 0 and accepted + duplicates == count:
            return "taken", ""
        return "failed", "the answer is not that of a collector"
    reason = said.get("reason")
    if reply.status in FOR_GOOD and isinstance(said.get("error"), str) and isinstance(reason, str):
        return "refused", shown(reason, 300)
    told = f": {shown(reason, 300)}" if isinstance(reason, str) else ""
    return "failed", f"the collector answers {reply.status}{told}"


def wait(failures: int, retry_after: str | None, now: int, random: Randomness) -> int:
    """Return how many seconds to wait after so many failures in a row.

    The wait doubles from one failure to the next and is drawn from its second half, so that devices
    do not come back together. It is never shorter than the collector asks for, up to a day.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT << min(failures - 1, 20))
    drawn = longest - random.below(longest // 2)
    return max(drawn, min(LONGEST_WAIT, _seconds(retry_after, now)))


def _seconds(retry_after: str | None, now: int) -> int:
    """Return the seconds that the field Retry-After asks for: a number, or a date."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return int(text[:9])
    until = seconds_of(text)
    return 0 if until is None else max(0, until - now)


def told(reply: Reply | None) -> int | None:
    """Return the collector's time, if an answer tells it."""
    return None if reply is None else reply.date


def posted(transport: Transport, batch: list[Queued]) -> tuple[Reply | None, str | None, bool]:
    """Return the answer to a request, or why there is none, and whether it may have arrived."""
    try:
        return transport(b"".join(one.data for one in batch)), None, True
    except OSError as error:
        return None, unreachable(error), not isinstance(error, NotSentError)


def unreachable(error: OSError) -> str:
    """Return that nobody answered, and why, in words."""
    return f"the collector cannot be reached: {shown(str(error), 200)}"


def note_not_taken(state: State, batch: list[Queued]) -> None:
    """Note that a request did not arrive, or that nothing in it was taken.

    A submission may still have arrived with an earlier request, or with that of another process.
    """
    ids = {one.id for one in batch}
    for one in state.queue:
        if one.id in ids:
            one.requests = max(one.requests - 1, 0)
            one.tried = one.tried if one.requests else 0
