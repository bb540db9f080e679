"""Turns: who computes next, so that one reader cannot keep the others waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator

from murmurs.collect.refusals import busy

MOST_EACH = 32
"""Requests of one reader that wait for their turn."""


class Turns:
    """Gives a few places to many readers, one reader after another; of one event loop."""

    def __init__(self, places: int, most_each: int = MOST_EACH) -> None:
        self._free, self._most_each = places, most_each
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @contextlib.asynccontextmanager
    async def of(self, reader: str) -> AsyncIterator[None]:
        """Wait for a place, and have it until the end of the block."""
        if self._free and not self._waiting:
            self._free -= 1
        else:
            await self._queue(reader)
        try:
            yield
        finally:
            self._next()

    async def _queue(self, reader: str) -> None:
        own = self._waiting.setdefault(reader, deque())
        if len(own) >= self._most_each:
            raise busy(f"{len(own)} requests of this token wait for results: wait for those first")
        turn = asyncio.get_running_loop().create_future()
        own.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it got a place that it does not need any longer
                self._next()
            raise

    def _next(self) -> None:
        """Give a place that is free now to the reader who has waited longest for one."""
        while self._waiting:
            reader, own = self._waiting.popitem(last=False)
            turn = own.popleft()
            if own:
                self._waiting[reader] = own  # behind all the others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
