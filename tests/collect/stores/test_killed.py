"""Processes that are killed, and processes that send the same: every submission counts once."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Part
from murmurs.numerics.arrays import Integers
from tests.collect.conftest import NewPlace, new_schema
from tests.collect.postgresql_server import Server
from tests.collect.sender import FINGERPRINT, MOST, numbered


def started(
    place: str, first: int, last: int, seed: int, together: int = 1
) -> subprocess.Popen[str]:
    arguments = [place, *map(str, (first, last, seed, together))]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.collect.sender", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


def counted(place: str) -> Integers:
    """Return how often each submission was counted; opening the store needs no other hand."""
    with contextlib.closing(open_store(place)) as store:
        store.verify()
        return store.counts(Part(FINGERPRINT, "which")).cells.ravel()


KILLS = {"sqlite": 5, "postgresql": 2}


@pytest.mark.parametrize("together", [1, 100])
def test_what_was_acknowledged_counts_once_however_often_the_process_is_killed(
    new_place: NewPlace, together: int
) -> None:
    place, rng = new_place(), np.random.default_rng(1)
    kills = KILLS["postgresql" if place.startswith("postgresql") else "sqlite"]
    acknowledged: set[int] = set()
    for seed in range(kills):
        with started(place, 0, MOST, seed, together) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]  # it runs
            time.sleep(rng.uniform(0.02, 0.3))
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        acknowledged |= {int(line) for line in lines if line.endswith("\n")}
        cells = counted(place)
        assert cells.max() == 1
        assert set(np.flatnonzero(cells)) >= acknowledged
    assert len(acknowledged) > 100
    with contextlib.closing(open_store(place)) as store:
        again = sorted(acknowledged)
        assert not any(store.add([numbered(number) for number in again], 1))


def test_two_collectors_that_are_sent_the_same_count_it_once(server: Server) -> None:
    place, most = new_schema(server), 1500
    with started(place, 0, most, 1) as one, started(place, 0, most, 2) as two:
        told = [process.communicate(timeout=300)[0].split() for process in (one, two)]
    assert [sorted(map(int, lines)) for lines in told] == [list(range(most))] * 2
    cells = counted(place)
    assert cells[:most].tolist() == [1] * most
    assert cells.sum() == most
