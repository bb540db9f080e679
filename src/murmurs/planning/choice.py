"""Which mechanism a question gets when none is named, and why."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from murmurs.boundary.texts import numbered
from murmurs.mechanisms.closed.hadamard import Hadamard
from murmurs.mechanisms.closed.krr import KRR
from murmurs.mechanisms.closed.projective import ProjectiveGeometry
from murmurs.mechanisms.closed.square_wave import SquareWave
from murmurs.mechanisms.closed.subset import Subset, best_size
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.planning.tuning import tune

KINDS = (KRR, Subset, ProjectiveGeometry, Hadamard)
"""The mechanisms that a closed question is chosen from."""

NEAR = 1.05
"""Root mean square error, relative to the smallest, that short reports may have."""

BYTE = 0.01
"""What a byte of a report is worth, as a part of the error."""

LONGEST = 1000
"""Bytes of a report above which a mechanism with a larger error may be chosen."""

PLAIN = 256
"""Answers up to which `KRR` is chosen at once where the best set of `Subset` has one answer.

Sets of one answer are `KRR` itself, no mechanism has a smaller error than the best sets, and no
report is shorter than a byte. With more answers, errors may be closer to each other than the
rounding of probabilities at large epsilon.
"""

NO_ERROR = 1e-9
"""Error with a million people below which mechanisms are alike: a thousandth of a person."""

Goal = Literal["scale", "buckets"]
"""What is wanted of numbers: their mean, quantiles and shares of ranges, or each bucket's share."""

FEWEST_BUCKETS, LARGEST_EPSILON = 20, 3.0
"""Buckets from which on, and epsilon up to which, a square wave is better for a scale."""

FOR_A_SCALE = (
    "it shows the mean and the distribution best (if the share of each bucket is wanted, say "
    'goal="buckets")'
)
"""Why a question about numbers gets a square wave."""

CANDIDATES = 256
"""Candidates that an open question is tuned for, unless their number is given."""


class Chosen(NamedTuple):
    """A mechanism and the reason for it, as part of a sentence after "because"."""

    mechanism: Mechanism[Any] | OpenMechanism[Any]
    why: str


def choose(k: int, epsilon: float) -> Chosen:
    """Return a mechanism whose error is within 5 % of the smallest, and whose reports are short.

    Each byte of a report counts like 1 % of error. If all errors within 5 % of the smallest take
    more than 1000 bytes (which happens with a hundred thousand answers), larger errors are weighed
    in the same way.

    >>> choose(4, 1.0)
    Chosen(mechanism=KRR(k=4, epsilon=1.0), why='no other mechanism has a smaller error')
    >>> choose(15, 0.5).mechanism  # 2 bytes; projective geometry has 1, and 1.6 % more error
    Subset(k=15, epsilon=0.5, w=6)
    >>> choose(1000, 1.0).mechanism  # 2 bytes; Subset has 125, and 1.2 % less error
    ProjectiveGeometry(k=1000, epsilon=1.0, q=3, t=7)
    >>> choose(1_000_000, 4.0).mechanism  # 4 bytes; Subset has 71,944, and 16 % less error
    ProjectiveGeometry(k=1000000, epsilon=4.0, q=17, t=6)
    """
    plain = KRR(k=k, epsilon=epsilon)
    if plain.k <= PLAIN and best_size(plain.k, plain.epsilon) == 1:
        return Chosen(plain, _why(plain.shape.size, 0.0))
    made: list[Mechanism[Any]] = [plain, *(kind(k=k, epsilon=epsilon) for kind in KINDS[1:])]
    errors = [max(math.sqrt(m.channel.expected_l2(10**6)), NO_ERROR) for m in made]
    smallest = min(errors)
    pairs = list(zip(made, errors, strict=True))
    near = [(m, e) for m, e in pairs if e <= NEAR * smallest and m.shape.size <= LONGEST]

    def cost(pair: tuple[Mechanism[Any], float]) -> float:
        mechanism, error = pair
        longer = 1 + BYTE * mechanism.shape.size
        return round(longer * error / smallest, 9)  # the last digits must not decide

    found, error = min(near or pairs, key=cost)
    return Chosen(found, _why(found.shape.size, error / smallest - 1))


def choose_for(goal: Goal, k: int, epsilon: float) -> Chosen:
    """Return the mechanism for what is wanted of the k buckets of a scale.

    Where buckets are few or epsilon is large, reports of single buckets show their sums best, too.

    >>> choose_for("scale", 20, 1.0).mechanism
    SquareWave(k=20, epsilon=1.0, b=7, circular=False)
    >>> choose_for("buckets", 20, 1.0).mechanism
    Subset(k=20, epsilon=1.0, w=5)
    >>> choose_for("scale", 7, 1.0).mechanism
    Subset(k=7, epsilon=1.0, w=2)
    """
    waves = FEWEST_BUCKETS <= k <= SquareWave.largest_k and epsilon <= LARGEST_EPSILON
    if goal == "scale" and waves:
        return Chosen(SquareWave(k=k, epsilon=epsilon), FOR_A_SCALE)
    return choose(k, epsilon)


def _why(size: int, excess: float) -> str:
    """Return why reports of this size are worth an error that so much exceeds the smallest."""
    if excess < 1e-6:
        return "no other mechanism has a smaller error"
    if excess < 1e-3:
        above = "at most 0.1 %"
    elif excess <= NEAR - 1:
        above = f"only {100 * excess:.1f} %"
    else:
        above = f"{100 * excess:.0f} %"
    unit = "byte" if size == 1 else "bytes"
    return f"its reports are short ({size} {unit}), and its error is {above} above the smallest"


def choose_open(epsilon: float, people: int, candidate_count: int = CANDIDATES) -> Chosen:
    """Return O-RR with the width and the number of cohorts that `tune` recommends."""
    mechanism = tune(epsilon, people, candidate_count).mechanism
    return Chosen(
        mechanism,
        f"it was tuned for {numbered(people, 'person')} and "
        f"{numbered(candidate_count, 'candidate')}",
    )
