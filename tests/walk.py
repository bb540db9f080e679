"""The exact law of an encoder: all branches of chance, walked with fractions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import TypeVar

from murmurs.privacy import SCALE
from murmurs.randomness.verbs import Randomness

Report = TypeVar("Report", bound=Hashable)

WIDE = 5000
"""A draw with more outcomes than this is followed only at `sampled` ones."""


class Fork(Exception):  # noqa: N818 - a question, not an error
    """The encoder asked for chance beyond the script."""

    def __init__(self, options: list[tuple[int, Fraction]]) -> None:
        self.options = options


class Script(Randomness):
    """Chance whose first outcomes are given; the next question raises `Fork`."""

    def __init__(self, outcomes: tuple[int, ...]) -> None:
        self._outcomes = iter(outcomes)

    def chance(self, numerator: int) -> bool:
        yes = Fraction(numerator, SCALE)
        return bool(self._next([(1, yes), (0, 1 - yes)]))

    def below(self, n: int) -> int:
        return self._next([(value, Fraction(1, n)) for value in sampled(n)])

    def _next(self, options: list[tuple[int, Fraction]]) -> int:
        for outcome in self._outcomes:
            return outcome
        raise Fork([(value, weight) for value, weight in options if weight > 0])


def sampled(n: int) -> list[int]:
    """All outcomes of a draw, or 16 of them if there are too many to walk."""
    if n <= WIDE:
        return list(range(n))
    return [0, 1, n - 1, *(i * (n // 14) + 7 * i for i in range(1, 14))]


def exact_law(encode: Callable[[int, Randomness], Report], answer: int) -> dict[Report, Fraction]:
    """Return the probability of every report of an answer, as exact fractions."""
    law: dict[Report, Fraction] = {}
    branches: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while branches:
        outcomes, weight = branches.pop()
        try:
            report = encode(answer, Script(outcomes))
        except Fork as fork:
            branches += [((*outcomes, value), weight * share) for value, share in fork.options]
        else:
            law[report] = law.get(report, Fraction(0)) + weight
    return law
