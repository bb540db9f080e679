"""Long bodies: a thread for them, apart from everything that must be answered at once.

Whoever sends keeps a place in a queue of its own, and the queues take turns: clients without a
token share one, so that strangers who send long bodies wait for each other, and relays do not.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TypeVar

from murmurs.collect.http.pools import Pools
from murmurs.collect.refusals import busy

Result = TypeVar("Result")

MOST_WAITING = 64
"""Bodies of one queue that wait; further ones are told to come back."""


class LongBodies:
    """Who waits for the thread for bodies. All methods are called in one event loop."""

    def __init__(self, pools: Pools) -> None:
        self._pools = pools
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._is_busy = False

    async def run(self, key: str, work: Callable[[], Result]) -> Result:
        """Return what some work returns, when it is the turn of its key."""
        queue = self._queues.setdefault(key, deque())
        if len(queue) >= MOST_WAITING:
            raise busy("too many long requests are being read: send this one again later")
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._go_on()
        try:
            await turn
            return await self._pools.run("bodies", work)
        finally:
            if not turn.cancelled():
                self._is_busy = False
                self._go_on()

    def _go_on(self) -> None:
        """Let the first of the next queue have its turn, if the thread is free."""
        while self._queues and not self._is_busy:
            key, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[key] = queue
            if not turn.done():  # else its request was given up
                self._is_busy = True
                turn.set_result(None)
