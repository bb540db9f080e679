"""Doubt: whether a submission that may have been taken can be sent again without counting twice.

A collector forgets ids, by its own clock. So a submission in doubt is sent again only if it was
first sent at most `CERTAIN_FOR` seconds ago, by the collector's clock where the transport tells its
time. The time that the collector told before the first request is never later than that request:
however wrong the device's own clock is or becomes, nothing is sent again too late.
"""

from __future__ import annotations

from typing import Literal

from murmurs.client.state import Queued, State

CERTAIN_FOR = 25 * 86_400
"""The seconds after an unanswered request for which a collector surely still knows its ids.

Collectors keep them for thirty days unless they are told otherwise.
"""

SLACK = 86_400
"""How far the collector's time may go back: if it was told later than that, it was told wrongly."""

FRESH_FOR = 10 * 86_400
"""The collector's time is asked for before a first request if it was told longer ago than this."""

EARLIEST = 1_700_000_000
"""A clock that shows an earlier time, in November 2023, was not set yet."""

TRIES = 5
"""How often the time is asked for in vain before something is sent without ever having heard it."""

NOT_ASKED = 0
"""In place of a time: the transport would tell the collector's time, but was not asked."""

Doubt = Literal["none", "send", "wait", "give up"]


def verdict(one: Queued, now: int, time: int | None) -> Doubt:
    """Return what becomes of a submission that is due.

    ``now`` is the device's clock; ``time`` that of the collector, None if the transport never tells
    it. In that case, or if it was not told before the first request, the device's clock must do.
    """
    if not one.tried:
        return "none"
    if time is not None and one.heard:
        if time == NOT_ASKED:
            return "give up" if now - one.tried > CERTAIN_FOR else "wait"
        return "send" if -SLACK <= time - one.heard <= CERTAIN_FOR else "give up"
    if now < EARLIEST <= one.tried:
        return "wait"
    certain = one.tried >= EARLIEST and 0 <= now - one.tried <= CERTAIN_FOR
    return "send" if certain else "give up"


def is_stale(heard: int, now: int) -> bool:
    """Whether the collector's time should be asked for before something is sent for the first time.

    If the device's clock is wrong, it is asked for too often, or a submission in doubt is given up
    earlier than it had to be.
    """
    return not heard or not 0 <= now - heard <= FRESH_FOR


def is_worth_waiting(state: State) -> bool:
    """Whether to ask for the time again later, since nobody answered, before anything is sent.

    What is sent before the time was ever told can only be judged by the device's clock. A relay
    that never answers such a request gets submissions all the same, some minutes later.
    """
    return not state.heard and state.failures < TRIES
