"""Hash schemes of deployed RAPPOR clients: which bits of a Bloom filter a string sets in a cohort.

No two of them agree, and a map or a list of candidates is only useful with the scheme of the
clients that sent the reports. These schemes hash strings unchanged, in UTF-8; murmurs' own scheme,
which hashes a normal form, is in `murmurs.hashing.layout`. Known answers are in
``vectors/rappor.json``.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import utf8
from murmurs.hashing import cityhash

Words = NDArray[np.uint64]
"""Hashes, before the modulo by the width: cohorts by hashes."""

_DIGEST = 16


@dataclass(frozen=True, kw_only=True)
class Scheme(ABC):
    """A way to hash strings into bits, and the limits of its clients."""

    name: str
    clients: str
    widest: int = 2**16
    most_hashes: int = 16
    most_cohorts: int = 2**16
    whole_bytes: bool = False
    cohorts_divide_128: bool = False

    @abstractmethod
    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the hashes of some bytes in some cohorts."""

    def taken(self, width: int) -> int:
        """Return how many of a digest's 16 bytes one hash takes; 0 if it has its own digest."""
        return 0

    def check(self, width: int, hashes: int, cohorts: int) -> None:
        """Refuse parameters that clients of this scheme cannot have."""
        for value, name, most in (
            (width, "width", self.widest),
            (hashes, "hashes", self.most_hashes),
            (cohorts, "cohorts", self.most_cohorts),
        ):
            if value > most:
                raise ValueError(f"scheme {self.name!r} has {name} up to {most}, not {value}")
        if hashes * self.taken(width) > _DIGEST:
            raise ValueError(
                f"scheme {self.name!r} has at most {_DIGEST // self.taken(width)} hashes for width "
                f"{width}, not {hashes}: they are taken from 16 bytes"
            )
        if self.whole_bytes and width % 8:
            raise ValueError(f"scheme {self.name!r} has a width of whole bytes, not {width} bits")
        if self.cohorts_divide_128 and 128 % cohorts:
            raise ValueError(
                f"scheme {self.name!r} has a number of cohorts that divides 128, not {cohorts}"
            )

    def bits(self, text: str, cohort: int, width: int, hashes: int) -> list[int]:
        """Return the bit of each hash of a string in a cohort; bits may repeat."""
        words = self.words(_encoded(text), range(cohort, cohort + 1), width, hashes)
        return [int(word) % width for word in words[0]]

    def table(
        self, texts: Sequence[str], width: int, hashes: int, cohorts: int
    ) -> NDArray[np.uint32]:
        """Return the bits of many strings: one line for each hash of each cohort."""
        out = np.empty((len(texts), cohorts * hashes), np.uint32)
        for line, text in zip(out, texts, strict=True):
            words = self.words(_encoded(text), range(cohorts), width, hashes)
            line[:] = words.ravel() % np.uint64(width)
        return np.ascontiguousarray(out.T)


class Google(Scheme):
    """MD5 of the cohort in four bytes, big-endian, and the string; hash i is byte i."""

    def taken(self, width: int) -> int:
        """Return one byte."""
        return 1

    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the first bytes of the digests."""
        return _numbers(_after_cohort(data, cohorts), "u1", hashes)


class GoogleVector(Scheme):
    """The same MD5 as in `Google`; hash i is as many bytes as the width needs, little-endian."""

    def taken(self, width: int) -> int:
        """Return one byte for up to 256 bits, otherwise two."""
        return 1 if width <= 2**8 else 2

    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the first bytes or pairs of bytes of the digests."""
        return _numbers(_after_cohort(data, cohorts), f"<u{self.taken(width)}", hashes)


class Java(Scheme):
    """The same MD5 as in `Google`; hash i is bytes 2 i and 2 i + 1, big-endian."""

    def taken(self, width: int) -> int:
        """Return two bytes."""
        return 2

    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the first pairs of bytes of the digests."""
        return _numbers(_after_cohort(data, cohorts), ">u2", hashes)


class Chromium(Scheme):
    """The low 32 bits of CityHash64 with the seed cohort * hashes + i."""

    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the low halves of the hashes."""
        seeds = np.arange(cohorts.start * hashes, cohorts.stop * hashes, dtype=np.uint64)
        low = cityhash.seeded_many(cityhash.hash64(data), seeds) & np.uint64(2**32 - 1)
        return low.reshape(-1, hashes)


class Mozilla(Scheme):
    """As `Google`, but MD5 of the character with the cohort's code, in UTF-8, and the string."""

    def taken(self, width: int) -> int:
        """Return one byte."""
        return 1

    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the first bytes of the digests."""
        return _numbers([_md5(chr(cohort).encode() + data) for cohort in cohorts], "u1", hashes)


class MozillaSha256(Scheme):
    """The last two bytes, big-endian, of SHA-256 of cohort and i in decimal digits and the string.

    Cohort 1 with hash 11 would equal cohort 11 with hash 1, so there are at most ten hashes.
    """

    def words(self, data: bytes, cohorts: range, width: int, hashes: int) -> Words:
        """Return the ends of the digests, one for each hash."""
        ends = [
            hashlib.sha256(b"%d%d" % (cohort, i) + data).digest()[-2:]
            for cohort in cohorts
            for i in range(hashes)
        ]
        return np.frombuffer(b"".join(ends), ">u2").reshape(-1, hashes).astype(np.uint64)


def _encoded(text: str) -> bytes:
    """Return a string in UTF-8; errors do not quote it, since it may be an answer."""
    data = utf8(text)
    if isinstance(data, int):
        raise ValueError(f"a string to be hashed has half of a surrogate pair at place {data}")
    return data


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _after_cohort(data: bytes, cohorts: range) -> list[bytes]:
    return [_md5(cohort.to_bytes(4, "big") + data) for cohort in cohorts]


def _numbers(digests: list[bytes], kind: str, hashes: int) -> Words:
    """Return the first numbers of one kind in each digest."""
    numbers = np.frombuffer(b"".join(digests), kind).reshape(len(digests), -1)
    return numbers[:, :hashes].astype(np.uint64)


_ALL: tuple[Scheme, ...] = (
    Google(name="google", clients="google/rappor in Python; in C++ up to 32 bits", widest=256),
    GoogleVector(
        name="google-vector", clients="google/rappor in C++, long filters", whole_bytes=True
    ),
    Java(
        name="java",
        clients="google/rappor in Java",
        widest=4096,
        most_hashes=8,
        most_cohorts=128,
        cohorts_divide_128=True,
    ),
    Chromium(
        name="chromium",
        clients="Chromium's components/rappor",
        most_cohorts=128,
        whole_bytes=True,
        cohorts_divide_128=True,
    ),
    Mozilla(
        name="mozilla",
        clients="Mozilla's study, MD5",
        widest=256,
        most_cohorts=0xD800,  # codes from here on are surrogates, not characters
        whole_bytes=True,
    ),
    MozillaSha256(
        name="mozilla-sha256",
        clients="Mozilla's study, SHA-256",
        most_hashes=10,
        whole_bytes=True,
    ),
)

BY_NAME: dict[str, Scheme] = {scheme.name: scheme for scheme in _ALL}
"""The schemes by name; each has been used by clients that sent reports."""
