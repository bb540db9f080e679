"""Chance reads bytes by its rule, exactly; system entropy is never handed out twice."""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import os
import signal
import threading
import time
import weakref
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs import Given, Secure, Seeded
from murmurs.privacy import SCALE

# The rule of bytes


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, SCALE))
def test_chance_drops_eleven_bits_of_eight_little_endian_bytes(word: int, numerator: int) -> None:
    random = Given(word.to_bytes(8, "little") + b"more")
    assert random.chance(numerator) == (word // 2**11 < numerator)
    assert random.left == 4


def test_chance_turns_at_its_numerator_and_no_lower_bit_matters() -> None:
    numerator = 0x123456789ABCD
    for low in (0, 1, 2**11 - 1):
        for value, said in ((numerator - 1, True), (numerator, False), (numerator + 1, False)):
            word = value << 11 | low
            assert Given(word.to_bytes(8, "little")).chance(numerator) is said


@pytest.mark.parametrize("word", [bytes(8), b"\xff" * 8])
def test_chance_of_nothing_is_never_and_of_all_is_always(word: bytes) -> None:
    assert Given(word).chance(0) is False
    assert Given(word).chance(SCALE) is True


@settings(deadline=None)
@given(st.integers(1, 2**70), st.binary(min_size=200, max_size=200))
def test_below_keeps_the_low_bits_of_as_few_bytes_as_needed(n: int, data: bytes) -> None:
    size = 0 if n == 1 else -(-len(f"{n - 1:b}") // 8)
    bits = 0 if n == 1 else len(f"{n - 1:b}")
    random = Given(data)
    try:
        found = random.below(n)
    except ValueError:
        found = -1
    wanted = -1
    at = 0
    while wanted < 0 and at + size <= len(data):
        value = int.from_bytes(data[at : at + size], "little") % 2**bits
        at += size
        wanted = value if value < n else -1
    assert found == wanted
    if found >= 0:
        assert random.left == len(data) - at


def test_below_gives_each_number_equally_often_over_all_bytes() -> None:
    """Every string of as many bytes as n - 1 needs is read once: all n of one byte, some of two."""
    for n in (*range(2, 257), 257, 300, 512, 513, 1000):
        size = 1 if n <= 256 else 2
        everything = b"".join(i.to_bytes(size, "little") for i in range(256**size))
        bits = (n - 1).bit_length()
        random = Given(everything)
        seen = Counter[int]()
        with contextlib.suppress(ValueError):  # the last draw finds no byte left
            while True:
                seen[random.below(n)] += 1
        assert seen == dict.fromkeys(range(n), 2 ** (8 * size - bits))


def test_below_one_needs_no_chance() -> None:
    assert Given(b"").below(1) == 0


@pytest.mark.parametrize("n", [0, -1])
def test_below_nothing_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match=rf"^below\({n}\) has no outcome: n must be at least 1$"):
        Given(b"").below(n)


# Given bytes and studies


@pytest.mark.parametrize("wrong", [5, Secure(), None, np.random.default_rng])
def test_a_study_of_something_else_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^Seeded takes numpy\.random\.default_rng\(seed\), not"):
        Seeded(wrong)


def test_given_bytes_run_out_with_an_error() -> None:
    random = Given(bytes(12))
    random.chance(1)
    assert random.left == 4
    with pytest.raises(ValueError, match=r"^8 random bytes were asked for, 4 are left$"):
        random.chance(1)
    assert random.left == 4


def test_a_study_is_reproducible_and_reads_its_generator() -> None:
    def draws(seed: int) -> list[int]:
        study = Seeded(np.random.default_rng(seed))
        return [study.below(1000) for _ in range(20)] + [study.chance(SCALE // 3) for _ in "......"]

    assert draws(7) == draws(7) != draws(8)
    generator = np.random.default_rng(7)
    study = Seeded(np.random.default_rng(7))
    assert [study.take(5), study.take(3)] == [generator.bytes(5), generator.bytes(3)]


# System entropy


def test_a_request_larger_than_a_block_is_served_whole() -> None:
    secure = Secure()
    secure.take(10)
    assert [len(secure.take(size)) for size in (0, 1, Secure.BLOCK, 3 * Secure.BLOCK, 7)] == [
        0,
        1,
        Secure.BLOCK,
        3 * Secure.BLOCK,
        7,
    ]


def test_system_entropy_is_handed_out_in_order_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bytes] = []
    source = np.random.default_rng(1)

    def urandom(size: int) -> bytes:
        drawn.append(source.bytes(size))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    secure = Secure()
    taken = [secure.take(24) for _ in range(200)]
    per_block = Secure.BLOCK // 24
    for number, part in enumerate(taken):
        block, at = divmod(number, per_block)
        assert part == drawn[block][24 * at : 24 * at + 24]


def test_two_instances_differ() -> None:
    """Equal by chance once in 2**256 runs."""
    assert Secure().take(32) != Secure().take(32)


def test_a_copy_does_not_hand_out_the_same_bytes() -> None:
    secure = Secure()
    secure.take(1)
    with contextlib.suppress(TypeError):  # to refuse being copied would do as well
        assert copy.copy(secure).take(32) != secure.take(32)


def bytes_of_forked_child(secure: Secure, size: int) -> bytes:
    """Fork; return what the child takes from the parent's `Secure`, through a pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - it runs in the child
        signal.alarm(10)  # a child that waits for a lost lock is ended, and sends nothing
        os.write(writer, secure.take(size))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return data


def blocks_of(data: bytes) -> set[bytes]:
    return {data[i : i + 8] for i in range(0, len(data), 8)}


forks = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@forks
def test_a_forked_child_never_repeats_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both take on in the middle of a block; of 8-byte parts some are equal once in 1e14 runs."""
    secure = Secure()
    secure.take(40)
    child = blocks_of(bytes_of_forked_child(secure, 1024))
    parent = blocks_of(secure.take(1024))
    assert len(child) == len(parent) == 128
    assert not child & parent
    # Were the child not told to begin anew, this test would see it.
    monkeypatch.setattr("murmurs.randomness.secure._alive", weakref.WeakSet[Secure]())
    assert blocks_of(bytes_of_forked_child(secure, 1024)) == blocks_of(secure.take(1024))


@forks
def test_children_of_one_parent_differ() -> None:
    secure = Secure()
    secure.take(8)
    first, second = (bytes_of_forked_child(secure, 64) for _ in range(2))
    assert len(first) == len(second) == 64
    assert not blocks_of(first) & blocks_of(second)


@forks
def test_a_fork_while_another_thread_draws_leaves_the_child_able_to_draw() -> None:
    secure = Secure()
    secure._lock.acquire()  # as if another thread were inside take()
    try:
        assert len(bytes_of_forked_child(secure, 16)) == 16
    finally:
        secure._lock.release()


def send_bytes(pipe: Connection, secure: Secure) -> None:
    signal.alarm(10)
    pipe.send_bytes(secure.take(1024))
    pipe.close()


@forks
def test_a_forked_worker_process_never_repeats_its_parent() -> None:
    secure = Secure()
    secure.take(40)
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()
    worker = fork.Process(target=send_bytes, args=(there, secure))
    worker.start()
    data = here.recv_bytes()
    worker.join()
    assert len(blocks_of(data)) == 128
    assert not blocks_of(data) & blocks_of(secure.take(1024))


def taken_by_threads(secure: Secure, each: int) -> list[bytes]:
    """Let eight threads take 8 bytes at a time from one `Secure`."""
    start = threading.Barrier(8)
    taken: list[list[bytes]] = [[] for _ in range(8)]

    def work(mine: list[bytes]) -> None:
        start.wait()
        mine += [secure.take(8) for _ in range(each)]

    threads = [threading.Thread(target=work, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [part for mine in taken for part in mine]


def test_threads_never_get_the_same_bytes() -> None:
    """Of 80,000 parts of 64 random bits two are equal once in 5e9 runs."""
    taken = taken_by_threads(Secure(), 10_000)
    assert len(taken) == len(set(taken)) == 80_000


def test_threads_without_the_lock_would_get_the_same_bytes() -> None:
    class Slow(bytes):
        def __getitem__(self, at: object) -> bytes:  # type: ignore[override]
            time.sleep(0.02)
            return bytes.__getitem__(self, at)  # type: ignore[call-overload,no-any-return]

    secure = Secure()
    secure._buffer = Slow(os.urandom(4096))
    secure._lock = contextlib.nullcontext()  # type: ignore[assignment]
    taken = taken_by_threads(secure, 2)
    assert len(set(taken)) < len(taken)
