"""A process that sends numbered submissions to a store, and may be killed at any moment.

``python -m tests.collect.sender PLACE FIRST LAST SEED`` adds the submissions FIRST..LAST - 1 in
an order that follows from the seed, through a writer and beside constant folding, and prints the
number of each one after it was acknowledged. Submission number j has an id that follows from j, and
one report, which is j itself: so the counts say of each submission how often it was counted.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import deque

import numpy as np

from murmurs.collect.stores import open_store
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


def main(place: str, first: int, last: int, seed: int) -> None:
    """Send submissions, up to `OUTSTANDING` at a time."""
    store = open_store(place)
    store.publish(SURVEY, 1)
    writer = Writer(store)
    ended = threading.Event()

    def fold() -> None:
        while not ended.wait(0.01):
            store.fold()

    folding = threading.Thread(target=fold)
    folding.start()
    sent = deque[tuple[int, object]]()
    for number in first + np.random.default_rng(seed).permutation(last - first):
        sent.append((int(number), writer.add([numbered(int(number))])))
        if len(sent) >= OUTSTANDING:
            _acknowledge(sent)
    while sent:
        _acknowledge(sent)
    ended.set()
    folding.join()
    writer.close()
    store.close()


def _acknowledge(sent: deque[tuple[int, object]]) -> None:
    number, future = sent.popleft()
    future.result()  # type: ignore[attr-defined]
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
