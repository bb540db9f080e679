"""Which mechanism a question gets when none is named, and why."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from murmurs.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.hadamard import Hadamard
from murmurs.mechanisms.krr import KRR
from murmurs.mechanisms.projective import ProjectiveGeometry
from murmurs.mechanisms.subset import Subset
from murmurs.planning.tuning import tune

KINDS = (KRR, Subset, ProjectiveGeometry, Hadamard)
"""The mechanisms that a closed question is chosen from."""

NEAR = 1.05
"""Root mean square error, relative to the smallest, that short reports may have."""

BYTE = 0.01
"""What a byte of a report is worth, as a part of the error."""

CANDIDATES = 256
"""Candidates that an open question is tuned for, unless their number is given."""


class Choice(NamedTuple):
    """A mechanism and the reason for it, as part of a sentence after "because"."""

    mechanism: Mechanism[Any] | OpenMechanism[Any]
    why: str


def choose(k: int, epsilon: float) -> Choice:
    """Return a mechanism whose error is within 5 % of the smallest, and whose reports are short.

    Each byte of a report counts like 1 % of error.

    >>> choose(4, 1.0)
    Choice(mechanism=KRR(k=4, epsilon=1.0), why='no other mechanism has a smaller error')
    >>> choose(15, 0.5).mechanism  # 2 bytes; projective geometry has 1, and 1.6 % more error
    Subset(k=15, epsilon=0.5, w=6)
    >>> choose(1000, 1.0).mechanism  # 2 bytes; Subset has 125, and 1.2 % less error
    ProjectiveGeometry(k=1000, epsilon=1.0, q=3, t=7)
    """
    made = [kind(k=k, epsilon=epsilon) for kind in KINDS]
    errors = [math.sqrt(mechanism.channel.expected_l2(10**6)) for mechanism in made]
    smallest = min(errors)
    near = [(m, e) for m, e in zip(made, errors, strict=True) if e <= NEAR * smallest]

    def cost(pair: tuple[Mechanism[Any], float]) -> float:
        mechanism, error = pair
        longer = 1 + BYTE * mechanism.shape.size
        return round(longer * error / smallest, 9)  # the last digits must not decide

    found, error = min(near, key=cost)
    excess = error / smallest - 1
    if excess < 1e-3:
        return Choice(found, "no other mechanism has a smaller error")
    size = found.shape.size
    unit = "byte" if size == 1 else "bytes"
    return Choice(
        found,
        f"its reports are short ({size} {unit}), and its error is only {100 * excess:.1f} % above "
        "the smallest",
    )


def choose_open(epsilon: float, people: int, candidate_count: int = CANDIDATES) -> Choice:
    """Return O-RR with the width and the number of cohorts that `tune` recommends."""
    mechanism = tune(epsilon, people, candidate_count).mechanism
    return Choice(
        mechanism,
        f"it was tuned for {people:,} people and {candidate_count:,} candidates",
    )
