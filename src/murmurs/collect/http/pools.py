"""Pools: threads for what would keep the event loop waiting, each kind of work apart.

A kind that has much to do waits for its own threads only: whatever results, backups and bodies
take, tokens are read again, and the store is asked whether it is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, ParamSpec, TypeVar

Kind = Literal["catalogue", "ready", "bodies", "results", "administration"]

SIZES: dict[Kind, int] = {
    "catalogue": 1,
    "ready": 1,
    "bodies": 1,
    "results": 2,
    "administration": 2,
}
"""How many threads each kind has."""

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Pools:
    """The threads of one collector, which are started when there is work."""

    def __init__(self) -> None:
        self._pools = {
            kind: ThreadPoolExecutor(size, f"murmurs-{kind}") for kind, size in SIZES.items()
        }

    async def run(
        self, kind: Kind, work: Callable[Given, Found], *given: Given.args, **named: Given.kwargs
    ) -> Found:
        """Do some work in a thread of its kind."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[kind], lambda: work(*given, **named))

    def close(self) -> None:
        """Begin nothing more; calling it twice is fine."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
