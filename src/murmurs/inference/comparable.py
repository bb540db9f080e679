"""What comparisons need from an estimate, and the shares that all sides have if nothing differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats


class Comparable(Protocol):
    """What a comparison needs from an estimate."""

    @property
    def fit(self) -> Fit:
        """The unbiased shares with their noise."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the answers, if there are any."""
        ...

    @property
    def plausible(self) -> Floats:
        """Shares on the simplex, to compute the noise."""
        ...

    def standard_errors(self, target: Target, shares: Floats | None = None) -> Floats:
        """Return the standard errors of the unbiased shares, at these shares or the estimated."""
        ...

    def score_interval(self, level: float, target: Target) -> Floats:
        """Return limits of the unbiased shares that may lie below zero."""
        ...


def common_shares(sides: Sequence[Comparable]) -> Floats:
    """Return the shares of all people together, which all sides have if nothing changed.

    A test of "nothing changed" takes the noise there. Taken at each side's own shares, rare answers
    that happen to be missing on one side would seem to have no noise, and the test would reject too
    often.
    """
    people = [side.fit.counts.people for side in sides]
    return np.average([side.plausible for side in sides], axis=0, weights=people)
