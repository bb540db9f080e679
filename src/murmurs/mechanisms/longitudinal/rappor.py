"""RAPPOR: strings in Bloom filters, by cohort, with a permanent and an instantaneous response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from murmurs.boundary.checks import shown, whole
from murmurs.hashing import schemes, strings
from murmurs.hashing.layout import Layout, Places, listed
from murmurs.mechanisms.hashed.orappor import MOST_HASHES, BloomCohorts
from murmurs.mechanisms.longitudinal.responses import Responses
from murmurs.mechanisms.longitudinal.two_rounds import second_bits
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.numerics.arrays import Integers
from murmurs.numerics.xxh32 import buckets
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Bits, CohortBits, Reports

OWN = "murmurs"
"""The scheme of `murmurs.hashing.layout.Keyed`; strings are hashed in their normal form."""

BY_MAP = "map"
"""The scheme of reports whose hash is unknown: bits are listed in a map."""

SCHEMES = (OWN, *schemes.BY_NAME, BY_MAP)


@dataclass(frozen=True)
class Rappor(Responses[CohortBits], BloomCohorts):
    """RAPPOR, given by f, p and q: a Bloom filter of a string, randomised twice.

    Use it to read and to join existing collections of google/rappor and related systems; if you are
    free to choose, take `ORR`. It has two epsilons: `epsilon` for one report, and
    `epsilon_permanent_realised` for any number of reports of one string by a device that keeps its
    permanent response (infinite if f = 0). `encode` draws a new permanent response each time.

    Law: the cohort c is uniform, and fixed for a device. The ``hashes`` bits of the string in that
    cohort are one. In the scheme "murmurs" hash i, number j = c * hashes + i, is XXH32(key j mod 4,
    salt + j) * width >> 32; other schemes are those of deployed clients, which the command
    ``murmurs rappor schemes`` lists; with "map" strings cannot be hashed here. Permanent bits are
    drawn first, then the bits of the report, each from the first to the last. A permanent bit is 1
    with probability f/2, 0 with f/2, and the filter's bit with 1 - f; the report's bit is 1 with
    probability q if the permanent bit is 1, otherwise with p. So a bit of the string is set with
    probability q* = (1 - f/2) q + (f/2) p, and any other with p* = (1 - f/2) p + (f/2) q. f, p and
    q are rounded to multiples of 2**-53. Two strings differ in up to twice as many bits as hashes,
    so e^epsilon is (q* (1 - p*) / (p* (1 - q*)))^hashes. Erlingsson, Pihur and Korolova (2014).

    >>> rappor = Rappor(width=16, hashes=2, cohorts=64, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 2), round(rappor.epsilon_permanent_realised, 2)
    (1.07, 4.39)
    """

    width: int
    hashes: int
    cohorts: int
    f: float
    p: float
    q: float
    salt: int = 0
    scheme: str = OWN
    f_numerator: int = field(default=LEFT_OPEN, repr=False)
    p_numerator: int = field(default=LEFT_OPEN, repr=False)
    q_numerator: int = field(default=LEFT_OPEN, repr=False)
    epsilon: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._settle_table()
        self._set(hashes=whole(self.hashes, "hashes", 1, min(MOST_HASHES, self.width)))
        self._settle_scheme()
        self._settle_responses()

    def _settle_scheme(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(
                f"there is no scheme {shown(self.scheme)}; there are {', '.join(SCHEMES)}"
            )
        if self.scheme != OWN and self.salt:
            raise ValueError(f"a salt is for the scheme {OWN!r}: {self.scheme!r} has none")
        if self._foreign:
            self._foreign.check(self.width, self.hashes, self.cohorts)

    @property
    def _foreign(self) -> schemes.Scheme | None:
        return schemes.BY_NAME.get(self.scheme)

    @property
    def ratio(self) -> Fraction:
        """The ratio of two strings with ``hashes`` bits each, all different if there is room."""
        up, down = self.one / self.zero, (1 - self.zero) / (1 - self.one)
        most = min(self.hashes, self.width - 1)
        return max(up, down) ** most * min(up, down) ** min(self.hashes, self.width - most)

    @property
    def differing(self) -> int:
        """The most bits in which two strings differ: two per hash, if there are so many."""
        return min(2 * self.hashes, self.width)

    @property
    def permanent_law(self) -> tuple[int | str, ...]:
        """The parameters that the bits of a string depend on, and f."""
        return self.width, self.hashes, self.cohorts, self.salt, self.scheme, self.f_numerator

    def check(self, text: object) -> str:
        """Return a string in its normal form, or unchanged for the schemes of other clients."""
        normal = strings.normal(text)
        return normal if self.scheme == OWN else str(text)

    def bit_numbers(self, texts: Sequence[str]) -> Places:
        """Return the bit of each hash of checked strings, one line for each hash of each cohort."""
        if self._foreign:
            return self._foreign.table(texts, self.width, self.hashes, self.cohorts)
        if self.scheme == BY_MAP:
            if texts:  # they may be answers, so the error does not quote them
                raise ValueError(
                    f"strings cannot be hashed for {self}: the scheme {BY_MAP!r} has their bits in "
                    f"a map; name the clients' scheme, one of {', '.join(SCHEMES[:-1])}"
                )
            return np.empty((self.cohorts * self.hashes, 0), np.uint32)
        number = np.arange(self.cohorts * self.hashes)
        seeds = ((self.salt + number[:, None]) % 2**32).astype(np.uint32)
        return buckets(strings.keys(texts)[number % strings.KEYS], seeds, self.width)

    def layout_of(self, texts: Sequence[str]) -> Layout:
        """Return the bits of checked strings, by the scheme's hash."""
        if self.scheme == OWN:
            return super().layout_of(texts)
        return listed(self.bit_numbers(texts), self.cohorts, self.width, self.hashes)

    def places(self, text: str, cohort: int) -> list[int]:
        """Return the bits of a string in a cohort, each once, in the order of the hashes."""
        if not self._foreign:
            return super().places(text, cohort)
        return list(dict.fromkeys(self._foreign.bits(text, cohort, self.width, self.hashes)))

    def _permanent(self, text: str, device: Randomness, response: Randomness) -> CohortBits:
        """Return a permanent response to a checked string, in the cohort of the device."""
        cohort = device.below(self.cohorts)
        return self._lasting(cohort, self.places(text, cohort), response)

    def _lasting(self, cohort: int, places: Sequence[int], random: Randomness) -> CohortBits:
        """Return the permanent response to a filter."""
        bits = [self._permanent_bit(b in places, random) for b in range(self.width)]
        return self._packed(cohort, bits)

    def _instant(self, permanent: CohortBits, random: Randomness) -> CohortBits:
        """Return a report made from a permanent response."""
        lasting = Bits(self.width).flags(permanent.bits)
        return self._packed(permanent.cohort, (self._bit(bit, random) for bit in lasting))

    def _own_many(self, n: int, random: Bulk) -> Integers:
        return random.below(self.cohorts, n).astype(np.int64)

    def _permanent_many(
        self, answers: tuple[Layout, Integers], own: Integers, random: Bulk
    ) -> Reports:
        layout, numbers = answers
        return self._set_bits(own, layout.look_up(numbers, own), *self.first_round, random)

    def _instant_many(self, permanent: Reports, random: Bulk) -> Reports:
        out = permanent.copy()
        bits = np.ascontiguousarray(permanent["bits"])
        out["bits"] = second_bits(bits, *self.second_round, self.width, random)
        return out

    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> CohortBits:
        return self._instant(self._lasting(cohort, places, random), random)
