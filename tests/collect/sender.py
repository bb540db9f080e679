"""A process that sends numbered submissions to a store, and may be killed at any moment.

``python -m tests.collect.sender PLACE FIRST LAST SEED TOGETHER`` adds the submissions
FIRST..LAST - 1 in an order that follows from the seed, so many in a request, through a writer and
beside constant folding, and prints the number of each one after it was acknowledged. Submission
number j has an id that follows from j, and one report, which is j itself: so the counts say of each
submission how often it was counted.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import deque

import numpy as np

from murmurs.collect.stores import open_store, sqlite_ids
from murmurs.collect.stores.writer import Writer
from murmurs.submission import Submission
from murmurs.survey.survey import Survey

MOST = 20_000
SURVEY = Survey.from_toml("""
name = "numbered"
[[questions]]
name = "which"
mechanism = {name = "ORR", epsilon = 2.0, width = 128, cohorts = 256}
""")
FINGERPRINT = SURVEY.fingerprint
OUTSTANDING = 32


def numbered(number: int) -> Submission:
    """Return the submission with a number."""
    identity = hashlib.sha256(number.to_bytes(8, "little")).digest()[:16]
    return Submission(FINGERPRINT, identity, 1, {"which": number.to_bytes(2, "little")})


def main(place: str, first: int, last: int, seed: int, together: int) -> None:
    """Send requests, up to `OUTSTANDING` at a time; ids are filed again and again."""
    sqlite_ids.MOST_RECENT, sqlite_ids.FILED_AT_ONCE = 3000, 200
    store = open_store(place)
    store.publish(SURVEY, 1)
    writer = Writer(store)
    ended = threading.Event()

    def fold() -> None:
        while not ended.wait(0.01):
            store.fold()

    folding = threading.Thread(target=fold)
    folding.start()
    sent = deque[tuple[list[int], object]]()
    order = (first + np.random.default_rng(seed).permutation(last - first)).tolist()
    for start in range(0, last - first, together):
        numbers = order[start : start + together]
        sent.append((numbers, writer.add([numbered(number) for number in numbers])))
        if len(sent) >= OUTSTANDING:
            _acknowledge(sent)
    while sent:
        _acknowledge(sent)
    ended.set()
    folding.join()
    writer.close()
    store.close()


def _acknowledge(sent: deque[tuple[list[int], object]]) -> None:
    numbers, future = sent.popleft()
    future.result()  # type: ignore[attr-defined]
    sys.stdout.write("".join(f"{number}\n" for number in numbers))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
