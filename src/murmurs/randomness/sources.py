"""The sources of randomness that callers may pass in."""

from __future__ import annotations

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.randomness.keyed import Keyed
from murmurs.randomness.secure import Secure
from murmurs.randomness.verbs import FromBytes, Randomness, check_size


class Seeded(FromBytes):
    """A NumPy generator as a source of randomness: reproducible, and not for devices.

    >>> Seeded(np.random.default_rng(7)).below(6)
    3
    """

    def __init__(self, generator: np.random.Generator) -> None:
        if not isinstance(generator, np.random.Generator):
            raise TypeError(f"Seeded takes numpy.random.default_rng(seed), not {shown(generator)}")
        self.generator = generator

    def take(self, size: int) -> bytes:
        """Return the generator's next ``size`` bytes."""
        return self.generator.bytes(check_size(size))


class Given(FromBytes):
    """Given bytes as a source of randomness, for known-answer vectors and tests.

    >>> Given(bytes([200, 3])).below(6)  # the low three bits of 200 are 0
    0
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._used = 0

    @property
    def left(self) -> int:
        """The number of bytes that are not used yet."""
        return len(self._data) - self._used

    def take(self, size: int) -> bytes:
        """Return the next ``size`` of the given bytes, or fail if there are not enough."""
        size = check_size(size)
        if size > self.left:
            raise ValueError(f"{size} random bytes were asked for, {self.left} are left")
        taken = self._data[self._used : self._used + size]
        self._used += size
        return taken


_SECURE = Secure()
"""What is used when nothing is passed in; threads and forked processes may share it."""

Chance = Randomness | np.random.Generator | None
"""What a call for one person takes as randomness; None is `Secure`."""

ChanceInBulk = Secure | Seeded | Keyed | np.random.Generator | None
"""What a call for many people takes as randomness; None is `Secure`."""


def as_randomness(random: Chance) -> Randomness:
    """Return an object with ``chance`` and ``below``, for one person."""
    if random is None:
        return _SECURE
    if isinstance(random, np.random.Generator):
        return Seeded(random)
    if isinstance(random, type) or not (hasattr(random, "chance") and hasattr(random, "below")):
        raise TypeError(_no_chance(random))
    return random


def as_generator(random: ChanceInBulk) -> np.random.Generator | Secure:
    """Return a NumPy generator or secure randomness, for many people at once."""
    if random is None:
        return _SECURE
    if isinstance(random, Seeded):
        return random.generator
    if isinstance(random, np.random.Generator | Secure):
        return random
    if isinstance(random, Keyed):
        raise TypeError(
            "Keyed is the chance of rows that are encoded, by encode_many and encode_column: here "
            "random must be Secure() or, in a study, numpy.random.default_rng(seed)"
        )
    raise TypeError(_no_chance(random))


def _no_chance(random: object) -> str:
    """Return why this is not a source of randomness, such as a class without its brackets."""
    given = shown(random)
    if isinstance(random, type):
        given = f"the class {random.__name__}: write {random.__name__}() with brackets"
    return f"random must be Secure() or, in a study, numpy.random.default_rng(seed), not {given}"
