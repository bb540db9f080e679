"""Prefixes of strings in groups of people: what is needed to find strings that nobody listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown, whole
from murmurs.counts import Counts
from murmurs.hashing import strings
from murmurs.hashing.layout import Keyed, Stacked
from murmurs.hashing.pieces import piece
from murmurs.mechanisms.hashed.orr import ORR, BucketResponse
from murmurs.mechanisms.settling import LEFT_OPEN

LONGEST = 200
"""The largest length of a prefix."""


@dataclass(frozen=True)
class Prefixes(BucketResponse):
    """O-RR of a prefix of the string; each person is asked for one length, with all of epsilon.

    Use it to find frequent strings without a list of candidates: a search extends those prefixes
    letter by letter that enough people report. `murmurs.Dictionary` chooses the parameters and
    does the search. ``levels`` are pairs of a length and a number of cohorts; the numbers of
    cohorts decide how many people are asked for each length.

    Law: the cohort c is uniform over the cohorts of all levels, in their order. Of the string, in
    normal form C, the device takes the piece for the length L of c's level: "." and the string if
    it has fewer than L characters, otherwise "+" and its first L characters. With c' the number of
    c within its level, the piece's bucket is y = XXH32(key, salt + c) * width >> 32, the key being
    number c' mod 4 of the four in the SHA-256 of the piece. With probability t = truth / 2**53 the
    reported bucket is y, otherwise any bucket, uniformly: e^epsilon >= 1 + width t / (1 - t). The
    report is the number c * width + bucket. The idea of growing prefixes in groups of people is
    that of Wang, Li and Jha (2017), "PEM".

    >>> found = Prefixes(epsilon=2.0, width=8, levels=((2, 64), (4, 32)))
    >>> found.cohorts, found.encode("teapot") in range(768)
    (96, True)
    """

    epsilon: float
    width: int
    levels: tuple[tuple[int, int], ...]
    salt: int = 0
    truth: int = field(default=LEFT_OPEN, repr=False)

    hashes = 1

    def __post_init__(self) -> None:
        self._set(levels=_settled(self.levels))
        self._settle_response()

    @cached_property
    def cohorts(self) -> int:  # type: ignore[override]
        """The number of cohorts of all levels."""
        return sum(cohorts for _, cohorts in self.levels)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths that people are asked for."""
        return tuple(length for length, _ in self.levels)

    @property
    def longest(self) -> int:
        """The most letters of a string that people are asked for."""
        return self.lengths[-1]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first cohort of each level, and after the last one the number of cohorts."""
        return tuple(int(x) for x in np.cumsum([0, *(cohorts for _, cohorts in self.levels)]))

    def layout_of(self, texts: Sequence[str]) -> Stacked:
        """Return the buckets of checked strings, through their pieces at each level."""
        return Stacked(
            tuple(
                Keyed(
                    strings.keys([piece(text, length) for text in texts]),
                    cohorts,
                    self.width,
                    self.salt + start,
                )
                for (length, cohorts), start in zip(self.levels, self.starts, strict=False)
            )
        )

    def places(self, text: str, cohort: int) -> list[int]:
        """Return the bucket of a string in a cohort."""
        number = int(np.searchsorted(self.starts, cohort, side="right")) - 1
        level = self.level(number)
        return level.places(piece(text, self.lengths[number]), cohort - self.starts[number])

    def level(self, number: int) -> ORR:
        """Return the open mechanism of one level; its answers are pieces."""
        salt = self.salt + self.starts[number]
        return ORR(self.epsilon, self.width, self.levels[number][1], salt, self.truth)

    def at_level(self, counts: Counts, number: int) -> Counts:
        """Return the counts of one level, as those of its open mechanism."""
        if counts.mechanism != self:
            raise ValueError(f"counts of {counts.mechanism} are not counts of {self}")
        cells = counts.cells[self.starts[number] : self.starts[number + 1]]
        return Counts(self.level(number), int(cells.sum()), cells)

    def to_document(self) -> dict[str, Any]:
        """Return the parameters, with levels as lists."""
        return {**super().to_document(), "levels": [list(level) for level in self.levels]}


def _settled(levels: Any) -> tuple[tuple[int, int], ...]:
    """Return levels as pairs of numbers, if lengths rise."""
    if not isinstance(levels, tuple | list) or not levels:
        raise TypeError(
            f"levels are pairs of a length and a number of cohorts, not {shown(levels)}"
        )
    out: list[tuple[int, int]] = []
    for level in levels:
        if not isinstance(level, tuple | list) or len(level) != 2:
            raise TypeError(f"a level is a length and a number of cohorts, not {shown(level)}")
        length = whole(level[0], "the length of a level", 1, LONGEST)
        cohorts = whole(level[1], "the cohorts of a level", 1, 2**16)
        if out and length <= out[-1][0]:
            raise ValueError(f"lengths of levels must rise, but {length} comes after {out[-1][0]}")
        out.append((length, cohorts))
    return tuple(out)
